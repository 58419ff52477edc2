// What running a graph takes, by the programs of its nodes; dims must be bound.
#pragma once

#include "graph/graph.h"

namespace isomer {

struct StageSizes {
  double longest_sum = 0;  ///< terms of the longest reduction
  double elements =
      0;  ///< evaluations of bodies, all stages together; those of loops' bodies are unknown and not in it
  bool has_decisions = false;  ///< a float becomes an integer or a bool, or is rounded to one
};

StageSizes stage_sizes(const Graph& graph);

}  // namespace isomer
