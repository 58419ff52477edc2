// Names of values that a model says beside its nodes: in training_info, and in quantization_annotation.
// Test: tests/onnx/export_test.cpp
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace isomer {

namespace onnx_proto {
class GraphProto;
class ModelProto;
}  // namespace onnx_proto

/// Of values of the main graph.
struct TrainingNames {
  std::set<std::string> bound;  ///< initializers that training gives other contents
  std::set<std::string> read;   ///< what its graphs read besides
};
TrainingNames names_of_training(const onnx_proto::ModelProto& model);

/// Of the tensors that say how others are quantized.
std::set<std::string> names_of_parameters(const onnx_proto::GraphProto& graph);

/// Gives a graph that was made of `original` back the initializers that are named so and were not read any more.
/// False where training has lost its meaning, as what it reads is gone, or weights that it changes are folded into
/// others: then the graph's model is without.
bool keep_named(Graph& graph, const Graph& original);

}  // namespace isomer
