#include "graph/passes/take_branches.h"

#include "graph/edit.h"
#include "graph/node_form.h"

namespace isomer {

bool is_decided_branch(const Graph& graph, const Node& node) {
  const auto* form = node.op ? std::get_if<BranchForm>(&node.op->form) : nullptr;
  return form && known_tensor(graph.value(node.inputs[static_cast<size_t>(form->condition)]));
}

Result<int> take_branches(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return take_branches(body, context); }));
  for (const NodeId id : graph.nodes()) {
    if (!is_decided_branch(graph, graph.node(id))) continue;
    context.step("take branch", label(graph, id));
    TRY_VOID(reform_node(graph, id, graph.node(id).op->expand));
    ++changes;
  }
  return changes;
}

}  // namespace isomer
