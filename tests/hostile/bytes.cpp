#include "hostile/bytes.h"

#include "graph/onnx/wire.h"

namespace isomer::test {

std::string varint(uint64_t value) {
  std::string bytes;
  wire::append_varint(bytes, value);
  return bytes;
}

std::string tag(uint32_t field, int wire_type) {
  return varint(uint64_t{field} << 3 | static_cast<uint64_t>(wire_type));
}

std::string number_field(uint32_t field, uint64_t value) { return tag(field, kVarint) + varint(value); }

std::string bytes_field(uint32_t field, std::string_view bytes) {
  std::string result = tag(field, kLengthDelimited) + varint(bytes.size());
  return result.append(bytes);
}

std::string repeated(std::string_view text, size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) result.append(text);
  return result;
}

}  // namespace isomer::test
