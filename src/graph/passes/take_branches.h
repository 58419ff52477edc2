// A node that runs one of two bodies, and the graph says which: the nodes of that body.
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

/// Whether the node does, and its condition is known.
bool is_decided_branch(const Graph& graph, const Node& node);

Result<int> take_branches(Graph& graph, PassContext& context);

}  // namespace isomer
