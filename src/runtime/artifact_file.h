// The file of an artifact (.iso), little-endian:
//
//   header    128 bytes: magic, version, sizes, hashes of plan and code, hash of the header itself
//   plan      what is not code of the CPU and weights, and a hash for each MB of weights; zeros up to a multiple of 64
//   code      zeros up to a multiple of 4096
//   weights   each at a multiple of 64, zeros between them
//
// Header, plan and code (with the zeros behind them) are read and checked when a file is opened; the weights stay
// mapped and are hashed by `verify_weights` alone.
#pragma once

#include <array>
#include <filesystem>

#include "runtime/artifact.h"
#include "util/hash.h"
#include "util/result.h"

namespace isomer::runtime {

inline constexpr std::array<char, 8> kMagic = {'\x7f', 'I', 'S', 'O', 'M', 'E', 'R', '\n'};
inline constexpr uint32_t kFormatVersion = 6;
inline constexpr int64_t kWeightChunk = int64_t{1} << 20;

/// Every byte of it is fixed by these fields; `hash` is that of the bytes before it.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kFormatVersion;
  uint32_t header_bytes = 128;
  uint64_t file_bytes = 0;
  uint64_t plan_bytes = 0;  ///< without the zeros behind them, as the other sizes
  uint64_t code_bytes = 0;
  uint64_t weight_bytes = 0;
  Hash128 plan_hash;
  Hash128 code_hash;
  uint64_t reserved[4] = {};  ///< zeros
  Hash128 hash;
};
static_assert(sizeof(Header) == 128 && std::is_trivially_copyable_v<Header>);
Hash128 hash_of(const Header& header);

/// Equal artifacts give equal bytes. An artifact that breaks a rule of artifact_check.h is refused.
Result<void> write_artifact(const Artifact& artifact, const std::filesystem::path& path);

/// Checked by artifact_check.h too. Its target may be another machine's. The weights are pages of the file, mapped as
/// long as an owner lives.
Result<Artifact> read_artifact(const std::filesystem::path& path);

/// An error that names the first chunk of weights that has changed since the file was written.
Result<void> verify_weights(const std::filesystem::path& path);

}  // namespace isomer::runtime
