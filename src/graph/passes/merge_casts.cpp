#include "graph/passes/merge_casts.h"

#include "graph/passes/edit.h"

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
    const Node& second = graph.node(id);
    if (!is_op(second, "Cast") || !second.outputs[0].valid()) continue;
    const Node* first = producer(graph, second.inputs[0], "Cast");
    if (!first) continue;
    const ValueId source = first->inputs[0];
    const DataType from = graph.value(source).type.dtype, between = graph.value(second.inputs[0]).type.dtype;
    const DataType to = graph.value(second.outputs[0]).type.dtype;
    if (!is_exact_cast(from, between)) continue;
    if (from == to) {
      if (!redirects.redirect(second.outputs[0], source)) continue;
    } else {
      TRY_VOID(rewrite(graph, id, "Cast", {source}, second.attributes));
    }
    context.step("merge casts", label(graph, id));
    ++changes;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
