#include "graph/passes/remove_identities.h"

#include <algorithm>

#include "graph/edit.h"
#include "graph/movement.h"

namespace isomer {
namespace {

/// The input that the output is, and how exactly.
std::optional<std::pair<ValueId, FloatClass>> same_as(const Graph& graph, NodeId id, int output) {
  const Node& node = graph.node(id);
  const ValueId made = node.outputs[output];
  const auto may_be = [&](ValueId input) { return input.valid() && input != made && same_type(graph, input, made); };
  if (std::none_of(node.inputs.begin(), node.inputs.end(), may_be)) return std::nullopt;
  const auto movement = movement_of(graph, id, output);
  if (!movement || !may_be(movement->source) || !keeps_places(*movement)) return std::nullopt;
  return std::pair(movement->source, movement->fp_class);
}

}  // namespace

Result<int> remove_identities(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return remove_identities(body, context); }));
  Redirects redirects(graph);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque()) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const auto same = same_as(graph, id, static_cast<int>(i));
      if (!same || !context.allows(same->second) || !redirects.redirect(node.outputs[i], same->first)) continue;
      context.step("remove identity", label(graph, id), same->second);
      ++changes;
    }
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
