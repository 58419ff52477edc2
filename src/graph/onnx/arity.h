// How many inputs and outputs of a node files must list. In a graph an output that nobody reads may be missing, and
// files may come so; what we write names it where the operator's schema demands it.
#pragma once

#include "graph/graph.h"

namespace isomer {

/// So many inputs a node in a file lists at least, omitted ones by an empty name: those before a list, which may be
/// empty, are counted whether they are there or not. The same in every version of the operator.
size_t least_inputs(const Node& node);

/// So many outputs a node in a file lists at least: up to the last one that may not be omitted. The same in every
/// version of the operator; 0 for opaque nodes, whose schema we don't know.
size_t least_outputs(const Node& node);

/// Whether a file must name the node's output i where the node has one: it is required, or one of a list whose length
/// says what the node does, as Split's.
bool must_be_named(const Node& node, size_t i);

/// An error where a node of the graph, or of its bodies, lacks an output that its schema demands.
Result<void> check_outputs(const Graph& graph);

}  // namespace isomer
