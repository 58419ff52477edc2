#include "graph/passes/simplify_shapes.h"

#include "graph/passes/edit.h"

namespace isomer {
namespace {

/// The constant target of a Reshape that computes its own.
std::optional<std::vector<int64_t>> literal_target(const Graph& graph, const Node& node) {
  if (!is_op(node, "Reshape") || constant_of(graph, node.inputs[1])) return std::nullopt;
  if (!node.outputs[0].valid()) return std::nullopt;  // dead, not removed yet
  const ValueType &from = graph.value(node.inputs[0]).type, &to = graph.value(node.outputs[0]).type;
  if (!from.has_shape() || !to.has_shape()) return std::nullopt;
  return reshape_target(*from.shape, *to.shape);
}

}  // namespace

Result<int> simplify_shapes(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return simplify_shapes(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (auto target = literal_target(graph, node)) {
      const ValueType type = graph.value(node.outputs[0]).type;
      const ValueId shape = emit_ints(graph, std::move(*target), "shape");
      Graph changed = graph;
      const auto done = rewrite(changed, id, "Reshape", {node.inputs[0], shape}, {});
      if (!done.ok() || changed.value(changed.node(id).outputs[0]).type != type) continue;
      graph = std::move(changed);
      context.step("literal reshape target", label(graph, id));
      ++changes;
    }
  }
  return changes;
}

}  // namespace isomer
