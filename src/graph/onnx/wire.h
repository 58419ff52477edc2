// Reading protocol buffers' wire format field by field, without a copy (protobuf.dev, "Encoding").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isomer::wire {

enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Type type = Type::kVarint;
  uint64_t varint = 0;     ///< of kVarint
  std::string_view bytes;  ///< of kBytes
  std::string_view whole;  ///< tag and all
};

class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}
  bool done() const { return rest_.empty(); }
  /// The next field, a group with all that it holds as one; false where the bytes are no such thing.
  bool next(Field& field);
  /// What has not been read.
  std::string_view rest() const { return rest_; }

 private:
  bool take_varint(uint64_t& value);
  bool take(uint64_t size, std::string_view& bytes);
  bool take_simple(Field& field);
  std::string_view rest_;
};

void append_varint(std::string& out, uint64_t value);
void append_tag(std::string& out, uint32_t number, Type type);

}  // namespace isomer::wire
