#include "graph/passes/simplify_shapes.h"

#include <algorithm>

#include "graph/edit.h"
#include "graph/movement.h"
#include "graph/passes/contract.h"

namespace isomer {
namespace {

/// An input that is computed only says the output's shape.
bool computes_its_shape(const Graph& graph, const Node& node) {
  if (node.is_opaque() || !node.op->shape_input || !node.outputs[0].valid()) return false;
  return !constant_of(graph, input_of(node, *node.op->shape_input));
}

/// The node as a movement of an input, whose elements are not looked at where they are known.
std::optional<Movement> movement_by_itself(const Graph& graph, const Node& node) {
  const Graph scratch = alone(graph, node, -1);
  const NodeId only = scratch.nodes().front();
  auto movement = movement_of(scratch, only, 0);
  if (!movement) return std::nullopt;
  const std::vector<ValueId>& inputs = scratch.node(only).inputs;
  movement->source = node.inputs[std::find(inputs.begin(), inputs.end(), movement->source) - inputs.begin()];
  return movement;
}

}  // namespace

Result<int> simplify_shapes(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return simplify_shapes(body, context); }));
  for (const NodeId id : graph.nodes()) {
    if (!computes_its_shape(graph, graph.node(id))) continue;
    const auto movement = movement_by_itself(graph, graph.node(id));
    const auto spelled = movement ? spell_map(*movement) : std::nullopt;
    if (!spelled) continue;
    TRY_VOID(rewrite(graph, id, movement->source, *spelled));
    context.step("literal shape", label(graph, id));
    ++changes;
  }
  return changes;
}

}  // namespace isomer
