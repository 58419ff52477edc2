#include "graph/passes/take_branches.h"

#include "graph/edit.h"
#include "graph/node_form.h"

namespace isomer {

Result<int> take_branches(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return take_branches(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const OpDef* op = graph.node(id).op;
    if (!op || !std::holds_alternative<BranchForm>(op->form) || !op->expand) continue;
    const std::string where = label(graph, id);
    Graph changed = graph;
    const auto placed = reform_node(changed, id, op->expand);
    if (!placed.ok() && placed.error().kind != ErrorKind::kUnsupported) return placed.error();
    if (!placed.ok()) continue;
    graph = std::move(changed);
    context.step("take branch", where);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
