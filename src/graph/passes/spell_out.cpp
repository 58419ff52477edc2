#include "graph/passes/spell_out.h"

#include <algorithm>
#include <deque>
#include <map>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/hash.h"
#include "graph/node_form.h"
#include "graph/passes/contract.h"

namespace isomer {
namespace {

/// Written out on its own, simplified and contracted the node is one node again.
bool comes_back(const Graph& graph, const Node& node) {
  Graph scratch = alone(graph, node);
  const auto placed = reform_node(scratch, scratch.nodes().front(), node.op->expand);
  // A row may leave a node as it is, where its attributes or operands are not known well enough.
  if (!placed.ok() ||
      std::any_of(placed->begin(), placed->end(), [&](NodeId id) { return scratch.node(id).op == node.op; }))
    return false;
  if (!simplify_lightly(scratch).ok()) return false;
  if (scratch.node_count() <= 1) return true;
  PassOptions options;
  std::vector<OptimizeStep> steps;
  PassContext context(options, steps);
  const auto contracted = contract(scratch, context);
  if (!contracted.ok() || *contracted == 0) return false;
  return simplify_lightly(scratch).ok() && scratch.node_count() == 1;
}

}  // namespace

Result<int> spell_out(Graph& graph, PassContext& context) {
  int changes = 0;
  if (!context.allows(FloatClass::kReassociated)) return changes;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return spell_out(body, context); }));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  std::deque<NodeId> pending(order.begin(), order.end());
  std::map<Hash128, bool> known;
  while (!pending.empty()) {
    const NodeId id = pending.front();
    pending.pop_front();
    const Node& node = graph.node(id);
    if (node.is_opaque() || !node.op->expand || node.op->domain == kOwnDomain || !node.captures.empty()) continue;
    // Equal uses of an operator in the layers of a model are tried once.
    const auto [verdict, is_new] = known.try_emplace(structural_hash(alone(graph, node)), false);
    if (is_new) verdict->second = comes_back(graph, node);
    if (!verdict->second) continue;
    const std::string where = label(graph, id);
    TRY(const std::vector<NodeId> placed, reform_node(graph, id, node.op->expand));
    pending.insert(pending.begin(), placed.begin(), placed.end());
    context.step("spell out", where, FloatClass::kReassociated);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
