// How much memory running a graph takes, told before it is run: what lives at once in the order in which nodes run.
// Inputs have shapes of known dims (graph/bind.h). Test: tests/graph/memory_estimate_test.cpp
#pragma once

#include "graph/graph.h"
#include "util/memory_limit.h"

namespace isomer {

/// Bytes, saturating.
struct GraphMemory {
  int64_t peak = 0;     ///< of what lives at once at most, inputs and outputs among it, weights not
  int64_t inputs = 0;   ///< in their own types, as they are given
  int64_t outputs = 0;  ///< as the run leaves them
  int64_t weights = 0;  ///< constants that nodes read
  /// False where data decide the size of some values: they are not in it.
  bool is_complete = true;
  std::string where;  ///< the node at which most is needed
};

/// Of the interpreter: eight bytes an element, the stages inside of operators too; as much again for the value at hand
/// where each is rounded.
Result<GraphMemory> memory_to_interpret(const Graph& graph, bool round_values = false);
/// Of code, in the types of the values and before operators are fused: what the plan of a compiled model needs is less,
/// but for what layouts pad.
Result<GraphMemory> memory_to_run(const Graph& graph);

/// An error of kind kUnsupported where it does not fit beside what the process has; `purpose`: "running it".
Result<void> check_fits(const GraphMemory& memory, MemoryLimit limit, std::string_view purpose);

}  // namespace isomer
