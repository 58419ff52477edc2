// Parsing of messages that were checked already.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

#include "util/result.h"

namespace isomer {

/// As ParsePartialFromString, but for messages nested as deep as the importer accepts, which is deeper than protobuf
/// does.
bool parse_nested(const std::string& bytes, google::protobuf::MessageLite& message);

/// What that parses; an error where protobuf can't write as much.
Result<std::string> serialized(const google::protobuf::MessageLite& message);

}  // namespace isomer
