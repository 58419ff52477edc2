// Runs a graph node by node in double precision: the reference that every other way to run a model is compared with.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/move_values.h"
#include "graph/te/array.h"
#include "util/clock.h"

namespace isomer {

struct InterpretOptions {
  int threads = 1;
  /// Round every value to its element type as it is produced: what the model gives in its own precision, up to the
  /// order of summation inside an operator. The yardstick for rounding error.
  bool round_values = false;
  /// Round what an operator makes step by step in each step, too (move_values.h).
  bool round_inside = false;
  /// Or else move them, and the inputs, and round inside: one of the runs that show what rounding decides.
  std::optional<RandomRounding> movement = std::nullopt;
  /// When the run ends with kStopped, done or not.
  std::optional<Clock::time_point> until = std::nullopt;
  /// What would need more ends with an error of kind kUnsupported before it is taken.
  MemoryLimit memory = {};
  /// Sees each value as it is produced, before it may be freed; subgraphs' values are not shown.
  std::function<void(ValueId, const te::Array&)> observe = nullptr;
  /// Told the node whose error ends a run, whatever the error; of a subgraph's node, the one that runs the subgraph.
  std::function<void(NodeId)> failed = nullptr;
};

/// Outputs for inputs in the order of graph.inputs(); an empty Array takes the input's default. Dims that the graph
/// leaves symbolic are taken from the arrays. Errors: an input of another type or shape than declared, an opaque node
/// that an output needs (kUnsupported), an index out of range, a division by zero. Arrays are freed after their last
/// use.
Result<std::vector<te::Array>> interpret(const Graph& graph, std::span<const te::Array> inputs,
                                         const InterpretOptions& options);

}  // namespace isomer
