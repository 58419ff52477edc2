// The order in which the interpreter runs the nodes of a graph, and how long it keeps their values.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace isomer {

struct RunOrder {
  std::vector<NodeId> nodes;  ///< only those that outputs need
  std::vector<int> uses;      ///< by those and the outputs; indexed by ValueId::index
};

Result<RunOrder> run_order(const Graph& graph);

}  // namespace isomer
