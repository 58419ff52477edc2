// Bytes that isomer::Hasher takes for others: what anyone can make who has read it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "util/check.h"
#include "util/hash.h"

namespace isomer::test {

/// Changes the eight bytes of the first block that belong to `lane`, and repairs those of the second. At least 128
/// bytes.
inline std::vector<std::byte> with_the_same_hash(std::vector<std::byte> bytes, size_t lane, uint64_t change) {
  constexpr size_t kBlock = 64;
  CHECK(bytes.size() >= 2 * kBlock && lane < 8 && change != 0);
  const std::vector<std::byte> before = bytes;
  const auto word = [&](size_t at) {
    uint64_t result;
    std::memcpy(&result, &bytes[at], sizeof result);
    return result;
  };
  const auto set_word = [&](size_t at, uint64_t value) { std::memcpy(&bytes[at], &value, sizeof value); };
  const auto step = [](uint64_t state, uint64_t read) { return std::rotl((state ^ read) * 0x9FB21C651E98DF25ULL, 29); };
  const size_t first = lane * sizeof(uint64_t), second = first + kBlock;
  const uint64_t start = mix64(lane + 1), old_word = word(first);
  set_word(first, old_word ^ change);
  set_word(second, word(second) ^ step(start, old_word) ^ step(start, old_word ^ change));
  CHECK(Hasher().add(bytes).finish() == Hasher().add(before).finish()) << "the hash is another one now";
  return bytes;
}

}  // namespace isomer::test
