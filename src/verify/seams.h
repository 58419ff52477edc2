// Cutting a graph at the nodes that we cannot run, so that the regions between them can be checked (DESIGN.md, section 9).
#pragma once

#include "graph/graph.h"

namespace isomer {

struct CutGraph {
  Graph graph;        ///< without opaque nodes; their outputs are further inputs, what they read further outputs
  int unchecked = 0;  ///< nodes that are not in it: the opaque ones, and those behind a seam of unknown type or shape
};

/// Deterministic by names: a graph and its optimized form, which has the same opaque nodes, get the same seams in the same
/// order. Control flow whose bodies hold opaque nodes counts as opaque.
Result<CutGraph> cut_at_opaque(const Graph& graph);

}  // namespace isomer
