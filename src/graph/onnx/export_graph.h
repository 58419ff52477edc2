// From a Graph to the messages of a model.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/onnx/onnx.pb.h"

namespace isomer {

/// A constant of the main graph: its message without data, and the data.
struct Initializer {
  onnx_proto::TensorProto header;
  Tensor data;
};

struct ExportedModel {
  onnx_proto::ModelProto model;           ///< everything but `initializers`, and the data of those of bodies
  std::vector<Initializer> initializers;  ///< in the order of the graph's values
  std::vector<Tensor> of_bodies;          ///< what the initializers of bodies hold, each by its `payload`
};

/// Every node is written in the form of the model's opset. Names are those of the values; where two collide the
/// interface keeps its own. What comes out is valid as import_graph sees it:
/// else the fault is ours, and a Bug is thrown.
Result<ExportedModel> export_graph(const Graph& graph);

}  // namespace isomer
