#include "graph/onnx/wire.h"

#include <vector>

namespace isomer::wire {
namespace {

/// Groups are not part of ONNX; deeper ones than this are nobody's extension.
constexpr size_t kMaxGroupDepth = 100;
constexpr uint32_t kMaxFieldNumber = (uint32_t{1} << 29) - 1;

}  // namespace

bool Reader::take_varint(uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
    const auto byte = static_cast<uint8_t>(rest_[i]);
    if (i == 9 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte & 0x80) continue;
    rest_.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool Reader::take(uint64_t size, std::string_view& bytes) {
  if (size > rest_.size()) return false;
  bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool Reader::take_simple(Field& field) {
  uint64_t tag = 0, size = 0;
  if (!take_varint(tag) || (tag >> 3) == 0 || (tag >> 3) > kMaxFieldNumber) return false;
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<Type>(tag & 7);
  switch (field.type) {
    case Type::kVarint: return take_varint(field.varint);
    case Type::kFixed64: return take(8, field.bytes);
    case Type::kBytes: return take_varint(size) && take(size, field.bytes);
    case Type::kGroup:
    case Type::kGroupEnd: return true;
    case Type::kFixed32: return take(4, field.bytes);
  }
  return false;
}

bool Reader::next(Field& field) {
  const std::string_view start = rest_;
  if (!take_simple(field) || field.type == Type::kGroupEnd) return false;
  if (field.type == Type::kGroup) {
    std::vector<uint32_t> open{field.number};
    while (!open.empty()) {
      Field inner;
      if (!take_simple(inner)) return false;
      if (inner.type == Type::kGroup) open.push_back(inner.number);
      if (open.size() > kMaxGroupDepth) return false;
      if (inner.type != Type::kGroupEnd) continue;
      if (inner.number != open.back()) return false;
      open.pop_back();
    }
  }
  field.whole = start.substr(0, start.size() - rest_.size());
  return true;
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_tag(std::string& out, uint32_t number, Type type) {
  append_varint(out, uint64_t{number} << 3 | static_cast<uint8_t>(type));
}

}  // namespace isomer::wire
