#include "kernel/fingerprint.h"

#include <llvm/Config/llvm-config.h>

namespace isomer::kernel {
namespace {

/// tests/kernel/generator_test.cpp says when it must grow.
constexpr int kVersion = 32;

}  // namespace

std::string fingerprint(const CpuTarget& target, int threads) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(target.vector_bits));
  for (const std::string& extension : target.extensions) hasher.add(std::string_view(extension));
  const std::string host = host_target().cpu;
  return fmt::format("{}-{}{} x{}", target.cpu, hasher.finish().hex().substr(0, 8),
                     host == target.cpu ? "" : " on " + host, threads);
}

std::string generator_version() { return fmt::format("{} LLVM {}", kVersion, LLVM_VERSION_STRING); }

}  // namespace isomer::kernel
