#include "graph/onnx/parse.h"

#include <google/protobuf/io/coded_stream.h>

namespace isomer {

namespace {

/// More than ImportLimits::message_depth and what we wrap around a message.
constexpr int kRecursionLimit = 1000;

constexpr size_t kMaxKeptBytes = (size_t{1} << 31) - 1;

}  // namespace

bool parse_nested(const std::string& bytes, google::protobuf::MessageLite& message) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  message.Clear();
  return message.MergePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Result<std::string> serialized(const google::protobuf::MessageLite& message) {
  if (const size_t bytes = message.ByteSizeLong(); bytes > kMaxKeptBytes)
    return unsupported("", "less than 2 GiB that are kept as they are expected, {} bytes found", bytes);
  return message.SerializePartialAsString();
}

}  // namespace isomer
