#include "graph/passes/simplify_shapes.h"

#include "graph/passes/edit.h"
#include "graph/passes/movement.h"

namespace isomer {
namespace {

/// An input that is computed only says the output's shape.
bool computes_its_shape(const Graph& graph, const Node& node) {
  if (node.is_opaque() || !node.op->shape_input || !node.outputs[0].valid()) return false;
  return !constant_of(graph, input_of(node, *node.op->shape_input));
}

}  // namespace

Result<int> simplify_shapes(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return simplify_shapes(body, context); }));
  for (const NodeId id : graph.nodes()) {
    if (!computes_its_shape(graph, graph.node(id))) continue;
    const auto movement = movement_of(graph, id, 0);
    const auto spelled = movement ? spell_map(*movement) : std::nullopt;
    if (!spelled) continue;
    TRY_VOID(rewrite(graph, id, movement->source, *spelled));
    context.step("literal shape", label(graph, id));
    ++changes;
  }
  return changes;
}

}  // namespace isomer
