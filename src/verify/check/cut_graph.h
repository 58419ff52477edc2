// Cutting a graph at the nodes that we cannot run, so that the regions between them can be checked (DESIGN.md, section
// 9). Tests: tests/verify/cut_graph_test.cpp
#pragma once

#include <optional>
#include <span>

#include "graph/graph.h"

namespace isomer {

struct CutGraph {
  Graph graph;        ///< without opaque nodes; their outputs are further inputs, what they read further outputs
  int unchecked = 0;  ///< nodes that are not in it: the opaque ones, those behind a seam of unknown type or shape, and
                      ///< those that read what has no numbers, such as strings
};

struct CutPair {
  CutGraph before, after;
};

/// A node of a graph, and the one that does the same in its optimized form.
struct NodePair {
  NodeId before, after;
};

/// The node of `after` that does what `node` does in `before`: one of the same outputs by name, or else the only one
/// of its name, with the same operator, attributes and bodies. Nothing where there is none: it was merged, folded or
/// rewritten.
std::optional<NodeId> find_counterpart(const Graph& before, NodeId node, const Graph& after);

/// Cuts a graph and its optimized form, which has the same opaque nodes, so that both have the same inputs and outputs
/// in the same order. What an opaque node reads is compared by the node's name for it, not by the value: two equal
/// values may have become one, or a constant. Control flow whose bodies hold opaque nodes or read constants of strings
/// counts as opaque, and so do the pairs of `further`.
Result<CutPair> cut_at_opaque(const Graph& before, const Graph& after, std::span<const NodePair> further = {});

}  // namespace isomer
