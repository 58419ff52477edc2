// The program of a node, for those who can do without.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "graph/te/program.h"

namespace isomer {

/// Nothing where types are missing that the program depends on, or the node has none.
std::optional<te::Program> program_of(const Graph& graph, NodeId id);

}  // namespace isomer
