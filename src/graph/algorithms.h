// Graph algorithms by name, over Boost.Graph: the Graph meets its concepts through the adapter in boost_adapter.h.
#pragma once

#include <set>
#include <vector>

#include "graph/graph.h"

namespace isomer {

/// Every node after the producers of what it reads (captures included); among ready nodes the earliest created first,
/// so a graph built in order comes back in that order. On a cycle the error names a node on it.
Result<std::vector<NodeId>> topological_order(const Graph& graph);

/// Values that nodes compute of constants alone.
std::set<ValueId> computed_of_constants(const Graph& graph);

}  // namespace isomer
