// Numbers in text that others wrote. Test: tests/util/parse_number_test.cpp
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace isomer {

/// Nothing unless the whole text is one number that the type has, without blanks or a plus sign around it. Whatever the
/// locale.
template <class T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  const char *const begin = text.data(), *const end = begin + text.size();
  std::from_chars_result read;
  if constexpr (std::integral<T>)
    read = std::from_chars(begin, end, value, base);
  else
    read = std::from_chars(begin, end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace isomer
