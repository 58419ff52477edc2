#include "util/utf8.h"

#include <fmt/format.h>

#include <algorithm>

#include <cstdint>

namespace isomer {

size_t shown_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<uint32_t>(static_cast<unsigned char>(text[i])) : 0;
  };
  const uint32_t first = byte(0);
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 1) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first < 0xc0 || first >= 0xf8) return 0;
  uint32_t point = first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  const auto within = [&](uint32_t low, uint32_t high) { return low <= point && point <= high; };
  const bool broken = point < kLeast[length] || within(0xd800, 0xdfff) || point > 0x10ffff;
  const bool control = within(0x80, 0x9f) || within(0x200e, 0x200f) || within(0x2028, 0x202e) || within(0x2066, 0x2069);
  return broken || control ? 0 : length;
}

std::string printable(std::string_view text, size_t most) {
  std::string result;
  while (!text.empty()) {
    const size_t length = shown_length(text);
    const std::string piece = length > 0 ? std::string(text.substr(0, length))
                                         : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    if (result.size() + piece.size() > most - 3) return result + "...";
    result += piece;
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace isomer
