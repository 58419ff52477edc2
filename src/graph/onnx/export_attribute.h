// Attributes into messages.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"
#include "graph/onnx/onnx.pb.h"

namespace isomer {

using WriteBody = std::function<Result<void>(const Graph& body, onnx_proto::GraphProto& proto)>;

Result<void> write_attribute(const std::string& name, const Attribute& attribute, onnx_proto::AttributeProto& proto,
                             const WriteBody& write_body);

}  // namespace isomer
