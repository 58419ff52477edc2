// Parsing of messages that were checked already.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

namespace isomer {

/// As ParsePartialFromString, but for messages nested as deep as the importer accepts, which is deeper than protobuf
/// does.
bool parse_nested(const std::string& bytes, google::protobuf::MessageLite& message);

}  // namespace isomer
