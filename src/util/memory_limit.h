// How much memory the process may have in all, handed down in options: what would need more is refused before it is
// taken, in a sentence, since a machine that runs out of memory kills without one. Test: tests/hostile/memory_test.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "util/result.h"

namespace isomer {

struct MemoryLimit {
  int64_t bytes = std::numeric_limits<int64_t>::max();  ///< that value: no limit

  bool is_none() const { return bytes == std::numeric_limits<int64_t>::max(); }
  /// Whether `more` bytes fit beside what the process has. What is too little to matter always does.
  bool allows(int64_t more) const;
  /// `allows`, for weights that may lie in files of which little was read so far, and for what is computed.
  bool allows(int64_t weights, int64_t more) const;
  /// The sentence where it does not: "6.44 GB of memory for PURPOSE expected, …; --memory allows more".
  Error refusal(int64_t more, std::string_view purpose) const;
  /// An error of kind kUnsupported where `allows` says no.
  Result<void> check(int64_t more, std::string_view purpose) const;

 private:
  /// Beside what the process has, or is going to have: at least `held` bytes.
  bool fits_beside(int64_t held, int64_t more) const;
};

/// Bytes of memory that the machine has, or the least that the process's cgroup and those around it may have (v1, v2);
/// nothing where neither is known.
std::optional<int64_t> machine_memory();
/// Three quarters of that.
MemoryLimit default_memory_limit();

/// The last resort: the kernel refuses what nobody asked about, beyond the limit and what stacks of `threads` take in
/// addresses, so that an allocation throws where the machine would kill. Does nothing in builds with sanitizers, which
/// map more than they use.
void limit_process(MemoryLimit limit, int threads);

/// "1GB", "512MB", "2GiB", "1.5G", "4096": bytes. Nothing where it is no size, or none above 0.
std::optional<int64_t> parse_size(std::string_view text);
/// "6.44 GB", "512 MB", "195 bytes"
std::string size_text(int64_t bytes);

}  // namespace isomer
