#include "util/hash.h"

#include <fmt/format.h>

#include <cstring>

namespace isomer {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hasher& Hasher::add(uint64_t word) {
  state_.low = mix64(state_.low ^ word) + 0x9E3779B97F4A7C15ULL;
  state_.high = mix64((state_.high + word) * 0xD6E8FEB86659FD93ULL) ^ (word << 1);
  return *this;
}

Hasher& Hasher::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

Hasher& Hasher::add(std::span<const std::byte> bytes) {
  add(static_cast<uint64_t>(bytes.size()));
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    add(word);
  }
  if (i < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    add(word);
  }
  return *this;
}

}  // namespace isomer
