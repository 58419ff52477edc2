// A 128-bit structural hash: two independently seeded 64-bit mixes. Not cryptographic.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace isomer {

struct Hash128 {
  uint64_t low = 0x9ae16a3b2f90404fULL;
  uint64_t high = 0xc949c7defebe6f8dULL;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;
};

/// Absorbs values in order: equal sequences give equal hashes on every machine.
class Hasher {
 public:
  Hasher& add(uint64_t word);
  Hasher& add(std::string_view text);
  Hasher& add(std::span<const std::byte> bytes);
  Hasher& add(const Hash128& hash) { return add(hash.low).add(hash.high); }
  Hash128 finish() const { return state_; }

 private:
  Hash128 state_;
};

/// The SplitMix64 finalizer (Steele, Lea, Flood 2014).
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace isomer

template <>
struct std::hash<isomer::Hash128> {
  size_t operator()(const isomer::Hash128& hash) const { return hash.low ^ (hash.high * 31); }
};
