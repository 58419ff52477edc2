// Pieces of the wire format, well-formed or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isomer::test {

enum WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kGroupStart = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

std::string varint(uint64_t value);
std::string tag(uint32_t field, int wire_type);
/// A field with a number, or with bytes behind their length.
std::string number_field(uint32_t field, uint64_t value);
std::string bytes_field(uint32_t field, std::string_view bytes);
/// `text` so many times.
std::string repeated(std::string_view text, size_t times);

}  // namespace isomer::test
