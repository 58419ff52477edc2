// Graphs as pictures: Graphviz DOT.
#pragma once

#include <string>

#include "graph/graph.h"

namespace isomer {

/// Nodes by operator, name and attributes; edges by type; weights as part of their reader's label;
/// bodies as clusters of their own. Model text is escaped.
std::string to_dot(const Graph& graph);

}  // namespace isomer
