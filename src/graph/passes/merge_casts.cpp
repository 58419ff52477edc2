#include "graph/passes/merge_casts.h"

#include <algorithm>

#include "graph/edit.h"
#include "graph/movement.h"

namespace isomer {
namespace {

/// A change of type, and of nothing else, that makes the value.
std::optional<Movement> conversion_to(const Graph& graph, ValueId made) {
  if (!made.valid() || !graph.value(made).producer.valid() || !graph.value(made).type.has_shape()) return std::nullopt;
  const NodeId producer = graph.value(made).producer;
  const ValueType& to = graph.value(made).type;
  const std::vector<ValueId>& inputs = graph.node(producer).inputs;
  const auto may_be = [&](ValueId input) {
    if (!input.valid()) return false;
    const ValueType& from = graph.value(input).type;
    return from.shape == to.shape && from.dtype != to.dtype;
  };
  if (std::none_of(inputs.begin(), inputs.end(), may_be)) return std::nullopt;
  auto map = element_map_of(graph, producer, graph.value(made).output_index);
  const bool converts = map && map->fp_class == FloatClass::kExact && map->from.dtype != to.dtype && keeps_places(*map);
  return converts ? std::move(map) : std::nullopt;
}

}  // namespace

Result<int> merge_casts(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return merge_casts(body, context); }));
  Redirects redirects(graph);
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).outputs.size() != 1) continue;
    const ValueId made = graph.node(id).outputs[0];
    const auto second = conversion_to(graph, made);
    const auto first = second ? conversion_to(graph, second->source) : std::nullopt;
    if (!first || !is_exact_cast(first->from.dtype, second->from.dtype)) continue;
    if (first->from.dtype == second->to.dtype) {
      if (!redirects.redirect(made, first->source)) continue;
    } else {
      const auto spelled = spell_map({first->from, second->to, second->index});
      if (!spelled) continue;
      TRY_VOID(rewrite(graph, id, first->source, *spelled));
    }
    context.step("merge casts", label(graph, id));
    ++changes;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
