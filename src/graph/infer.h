// Shape, type and content inference: rows asked node by node.
#pragma once

#include "graph/graph.h"
#include "graph/op_context.h"

namespace isomer {

/// Largest rank, dim and bytes of a tensor that we accept (reliability.md 2.6).
inline constexpr int64_t kMaxRank = 1024;
inline constexpr int64_t kMaxDim = int64_t{1} << 40;
inline constexpr int64_t kMaxBytes = int64_t{1} << 46;

/// The node's view of the graph around it. The node has a row; the graph must outlive the context.
OpContext context_of(const Graph& graph, NodeId id);

/// Arity, element types and attributes against the row.
Result<void> check_schema(const OpContext& context, const Attributes& attributes);

/// Of the row's inputs those that are bool whatever type the others have: 1 of Where, 0 of And.
int condition_count(const OpDef& op);

/// What the row says about the outputs: one type each, checked against the limits. Unknown types where an input's rank
/// is unknown.
Result<std::vector<ValueType>> infer_types(const OpContext& context);

/// Infers one node and writes types and contents into its output values; what the row leaves unknown keeps what the
/// value had. A node that the row does not support becomes opaque, with the reason.
Result<void> infer_node(Graph& graph, NodeId id);

/// All nodes in topological order, anew.
Result<void> infer(Graph& graph);

}  // namespace isomer
