// Graphs as pictures: Graphviz DOT.
#pragma once

#include <string>

#include "graph/graph.h"

namespace isomer {

/// Nodes by operator, name and attributes; edges by type; weights as part of their reader's label;
/// bodies as clusters of their own. Model text is escaped.
std::string to_dot(const Graph& graph);

struct GraphDiff;
/// What changed, with the values around it: nodes that are gone are red, new ones green, others orange.
std::string to_dot(const Graph& before, const Graph& after, const GraphDiff& diff);

/// An attribute in a few characters of printable ASCII.
std::string short_text(const Attribute& attribute);

}  // namespace isomer
