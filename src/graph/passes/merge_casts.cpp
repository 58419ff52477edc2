#include "graph/passes/merge_casts.h"

#include <algorithm>

#include "graph/passes/edit.h"
#include "graph/passes/movement.h"

namespace isomer {
namespace {

struct FloatFormat {
  int mantissa, exponent;
};

/// Bits of significand (the leading one included) and exponent.
FloatFormat format_of(DataType type) {
  switch (type) {
    case DataType::kFloat16: return {11, 5};
    case DataType::kBFloat16: return {8, 8};
    case DataType::kFloat32: return {24, 8};
    default: return {53, 11};
  }
}

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

bool is_exact_cast(DataType from, DataType to) {
  if (!is_computable(from) || !is_computable(to)) return false;
  if (from == to || from == DataType::kBool) return true;
  if (to == DataType::kBool) return false;
  if (is_float(from)) {
    const FloatFormat a = format_of(from), b = format_of(to);
    return is_float(to) && a.mantissa <= b.mantissa && a.exponent <= b.exponent;
  }
  const int bits = bit_width(from) - is_signed_int(from);
  if (is_float(to)) return bits <= format_of(to).mantissa && bits < (1 << (format_of(to).exponent - 1));
  if (is_unsigned_int(to)) return is_unsigned_int(from) && bits <= bit_width(to);
  return bits <= bit_width(to) - 1;
}

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
