// The same graph written differently.
#pragma once

#include "graph/graph.h"

namespace isomer::test {

/// With its nodes and values created in another order and everything named anew, in bodies too.
Graph shuffled(const Graph& graph, uint64_t seed);

}  // namespace isomer::test
