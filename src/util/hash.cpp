#include "util/hash.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace isomer {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hasher& Hasher::add(uint64_t word) {
  state_.low = mix64(state_.low ^ word) + 0x9E3779B97F4A7C15ULL;
  state_.high = mix64((state_.high + word) * 0xD6E8FEB86659FD93ULL) ^ (word << 1);
  return *this;
}

Hasher& Hasher::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

namespace {

constexpr size_t kLanes = 8;

uint64_t word_at(const std::byte* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

// Weights are hundreds of megabytes: whole blocks go into lanes that do not wait for each other, each step a bijection
// of its lane, and the lanes into the state.
Hasher& Hasher::add(std::span<const std::byte> bytes) {
  constexpr size_t kBlock = kLanes * sizeof(uint64_t);
  add(static_cast<uint64_t>(bytes.size()));
  size_t i = 0;
  if (bytes.size() >= kBlock) {
    std::array<uint64_t, kLanes> lanes;
    for (size_t k = 0; k < kLanes; ++k) lanes[k] = mix64(k + 1);
    for (; i + kBlock <= bytes.size(); i += kBlock)
      for (size_t k = 0; k < kLanes; ++k)
        lanes[k] = std::rotl((lanes[k] ^ word_at(&bytes[i + k * sizeof(uint64_t)])) * 0x9FB21C651E98DF25ULL, 29);
    for (const uint64_t lane : lanes) add(lane);
  }
  for (; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) add(word_at(&bytes[i]));
  if (i < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], bytes.size() - i);
    add(word);
  }
  return *this;
}

}  // namespace isomer
