// Types of values between ONNX's messages and ours.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/onnx/onnx.pb.h"

namespace isomer {

/// Dims without value and name become symbols "value_name.axis". Types without element type are unknown; sequences,
/// maps, optionals, sparse and opaque types are kept as they are. Errors are sentences without the value's name.
Result<ValueType> read_type(const onnx_proto::TypeProto& proto, std::string_view value_name);

/// Whether a size of this name is one of the model's inputs'.
using IsFree = std::function<bool(const std::string&)>;
/// Sizes that the file names, but for free ones: they may be 0, as their names then say, "n.?" for "n" (may_be_zero,
/// graph/te/symbols.h). None is called as a free one, or as one that data decide.
ValueType with_inner_names(ValueType type, const IsFree& is_free);
/// The names that the file has for them.
ValueType with_given_names(ValueType type, const IsFree& is_free);

/// What a value is that is no tensor, for people: "a sequence of float32".
std::string text_of_other(const ValueType& type);

/// Unknown types leave the message empty.
void write_type(const ValueType& type, onnx_proto::TypeProto& proto);

}  // namespace isomer
