// A task: what becomes one kernel, the meaning of one or several nodes as one program.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/te/program.h"
#include "kernel/lower.h"

namespace isomer {

struct Task {
  std::vector<NodeId> nodes;    ///< in the order in which they run
  std::vector<ValueId> inputs;  ///< the program's inputs
  std::vector<ValueId> outputs; ///< its outputs
  te::Program program;

  /// "Conv+Relu": the operators, for people.
  std::string name(const Graph& graph) const;
};

/// Types and shapes of a task's inputs. Errors: a value without a constant shape.
Result<std::vector<kernel::TaskType>> input_types(const Graph& graph, const Task& task);

}  // namespace isomer
