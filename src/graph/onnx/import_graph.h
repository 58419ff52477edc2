// From the messages of a model to a Graph.
#pragma once

#include "graph/graph.h"
#include "graph/onnx/limits.h"
#include "graph/onnx/onnx.pb.h"
#include "graph/onnx/tensor_reader.h"

namespace isomer {

/// Local functions must be expanded (functions.h) and the limits checked (payloads.h). Every node is lifted to its
/// row's newest form and inferred; nodes without row stay opaque. Constant nodes become constants. Nodes may come in
/// any order that has no cycle. `operators`: rows that do not come with the program. Errors name the node or value.
Result<Graph> import_graph(const onnx_proto::ModelProto& model, TensorReader& tensors,
                           std::shared_ptr<const OpTable> operators, const ImportLimits& limits = {});

/// The versions that the model says it is written in are ones that there are.
Result<void> check_versions(const onnx_proto::ModelProto& model);

}  // namespace isomer
