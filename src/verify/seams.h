// Cutting a graph at the nodes that we cannot run, so that the regions between them can be checked (DESIGN.md, section
// 9).
#pragma once

#include "graph/graph.h"

namespace isomer {

struct CutGraph {
  Graph graph;        ///< without opaque nodes; their outputs are further inputs, what they read further outputs
  int unchecked = 0;  ///< nodes that are not in it: the opaque ones, and those behind a seam of unknown type or shape
};

struct CutPair {
  CutGraph before, after;
};

/// Cuts a graph and its optimized form, which has the same opaque nodes, so that both have the same inputs and outputs
/// in the same order. What an opaque node reads is compared by the node's name for it, not by the value: two equal
/// values may have become one, or a constant. Control flow whose bodies hold opaque nodes counts as opaque.
Result<CutPair> cut_at_opaque(const Graph& before, const Graph& after);

}  // namespace isomer
