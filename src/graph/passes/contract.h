// The way back from primitives to composite operators (LayerNormalization, Gelu, Gemm, Softmax …): each row that has an
// expansion may recognize the last node of one and propose the node that it would stand for. A proposal is believed
// only when its own expansion and the nodes that it replaces, both simplified, are the same graph, products and sums in
// any order; when nothing else reads what lies between (but what is replaced with it); and when the model's opset has
// the operator and can say this use of it. Graphs of more than 50,000 nodes are left as they are. Test:
// tests/passes/contract.txt
#pragma once

#include <set>

#include "graph/passes/pass.h"

namespace isomer {

Result<int> contract(Graph& graph, PassContext& context);

/// What PassOptions::keep_composites keeps: nodes that look like a composite that the model's opset lacks (Gelu
/// before opset 20), with what lies between. None without that option, or in a graph that `contract` leaves as it is.
Result<std::set<NodeId>> kept_nodes(const Graph& graph, const PassContext& context);

/// A graph of one node by itself: constants of at most so many bytes are constants, its other inputs are inputs of the
/// graph.
Graph alone(const Graph& graph, const Node& node, int64_t largest_constant = 1024);

/// Brings two ways to write one thing together: exact passes only, and constants folded.
Result<void> simplify_lightly(Graph& graph);

}  // namespace isomer
