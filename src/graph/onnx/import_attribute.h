// Parts of a NodeProto.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"
#include "graph/onnx/onnx.pb.h"
#include "graph/onnx/tensor_reader.h"

namespace isomer {

/// "conv1 (Conv)", or "node 7 (Conv)" by position in its graph.
std::string file_label(const onnx_proto::NodeProto& node, int position);

/// Calls `read` on every name that the node takes from the graph around it: inputs, and what its bodies don't define.
void for_each_read(const onnx_proto::NodeProto& node, const std::function<void(const std::string&)>& read);

/// The same of a body.
void for_each_free_name(const onnx_proto::GraphProto& body, const std::function<void(const std::string&)>& read);

using BuildBody = std::function<Result<GraphPtr>(const onnx_proto::GraphProto&)>;

/// `place` is the node's label. Attributes of types that we only carry keep their message.
Result<Attribute> import_attribute(const onnx_proto::AttributeProto& proto, TensorReader& tensors,
                                   const std::string& place, const BuildBody& build_body);

/// The value of a Constant node, whose one attribute this is.
Result<Tensor> import_constant(const onnx_proto::AttributeProto& proto, TensorReader& tensors,
                               const std::string& place);

}  // namespace isomer
