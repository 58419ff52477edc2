#include "graph/passes/remove_dead.h"

#include <algorithm>

#include "graph/edit.h"

namespace isomer {
namespace {

/// May the output be omitted: is it formally optional, and not one of a row that needs all (like Split's)?
bool may_omit(const Node& node, size_t output) {
  if (node.is_opaque() || output == 0) return false;
  const auto& formal = node.op->outputs;
  return output < formal.size() && formal[output].arity == Parameter::Arity::kOptional;
}

/// Captures that no body of the node reads, dropped from the node and from all of its bodies.
int drop_unread_captures(Graph& graph, NodeId id) {
  const size_t count = graph.node(id).captures.size();
  if (count == 0) return 0;
  std::vector<bool> read(count, false);
  const auto look = [&](const Graph& body) {
    const std::vector<int> uses = body.use_counts();
    for (size_t i = 0; i < count && i < body.captures().size(); ++i)
      if (uses[body.captures()[i].index]) read[i] = true;
  };
  for (const auto& [name, attribute] : graph.node(id).attributes) {
    if (const auto* body = std::get_if<GraphPtr>(&attribute)) look(**body);
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
      for (const GraphPtr& body : *bodies) look(*body);
  }
  const auto unread = std::count(read.begin(), read.end(), false);
  if (unread == 0) return 0;
  const auto filtered = [&](const std::vector<ValueId>& captures) {
    std::vector<ValueId> kept;
    for (size_t i = 0; i < captures.size(); ++i)
      if (i >= read.size() || read[i]) kept.push_back(captures[i]);
    return kept;
  };
  Node& node = graph.edit(id);
  node.captures = filtered(node.captures);
  const auto shrink = [&](GraphPtr& body) {
    Graph copy = *body;
    const std::vector<ValueId> before = copy.captures();
    copy.set_captures(filtered(before));
    for (size_t i = 0; i < before.size() && i < read.size(); ++i)
      if (!read[i]) copy.remove_value(before[i]);
    body = std::make_shared<const Graph>(std::move(copy));
  };
  for (auto& [name, attribute] : node.attributes) {
    if (auto* body = std::get_if<GraphPtr>(&attribute)) shrink(*body);
    if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
      for (GraphPtr& body : *bodies) shrink(body);
  }
  return static_cast<int>(unread);
}

}  // namespace

Result<int> remove_dead(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return remove_dead(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const int dropped = drop_unread_captures(graph, id);
    if (dropped > 0) context.step("drop unread capture", label(graph, id));
    changes += dropped;
  }

  std::vector<int> uses = graph.use_counts();
  const auto is_unread = [&](ValueId id) { return !id.valid() || uses[id.index] == 0; };
  std::vector<NodeId> pending = graph.nodes();
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (!graph.contains(id)) continue;
    const Node& node = graph.node(id);
    if (!std::all_of(node.outputs.begin(), node.outputs.end(), is_unread)) continue;
    context.step("remove dead node", label(graph, id));
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId read : *list)
        if (read.valid() && --uses[read.index] == 0 && graph.value(read).producer.valid())
          pending.push_back(graph.value(read).producer);
    graph.remove_node(id);
    ++changes;
  }

  // A runtime has other code where less is asked for: ONNX Runtime's MaxPool without Indices takes another of two
  // zeros.
  const std::vector<NodeId> shortened = context.allows(FloatClass::kFinite) ? graph.nodes() : std::vector<NodeId>();
  for (const NodeId id : shortened) {
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    int omitted = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].valid() || !is_unread(outputs[i]) || !may_omit(graph.node(id), i)) continue;
      graph.set_output(id, static_cast<int>(i), {});
      ++omitted;
    }
    if (omitted == 0) continue;
    std::vector<ValueId>& list = graph.edit(id).outputs;
    while (list.size() > 1 && !list.back().valid() && may_omit(graph.node(id), list.size() - 1)) list.pop_back();
    context.step("omit unread output", label(graph, id), FloatClass::kFinite);
    changes += omitted;
  }
  std::vector<bool> keep(uses.size(), false);
  for (const auto* list : {&graph.inputs(), &graph.outputs(), &graph.captures()})
    for (const ValueId id : *list) keep[id.index] = true;
  for (const ValueId id : graph.values())
    if (uses[id.index] == 0 && !keep[id.index] && !graph.value(id).producer.valid()) graph.remove_value(id);
  return changes;
}

}  // namespace isomer
