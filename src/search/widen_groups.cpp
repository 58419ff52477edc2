#include "search/widen_groups.h"

#include <algorithm>

#include "graph/edit.h"

namespace isomer {
namespace {

/// Weights [m, c, …] of `group` groups as those of `group / factor` groups: [m, c * factor, …].
Tensor widened(const Tensor& weights, int64_t group, int64_t factor) {
  Dims dims = weights.dims();
  const int64_t outputs = dims[0], per_group = outputs / group;
  const int64_t row = weights.count() / outputs;
  dims[1] *= factor;
  std::vector<double> values(static_cast<size_t>(weights.count() * factor), 0);
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t place = o / per_group % factor;
    for (int64_t i = 0; i < row; ++i) values[(o * factor + place) * row + i] = weights.real(o * row + i);
  }
  return Tensor::from_doubles(weights.dtype(), dims, values);
}

}  // namespace

Result<int> widen_groups(Graph& graph, int64_t lanes) {
  TRY(int changes, for_each_body(graph, [&](Graph& body, NodeId) { return widen_groups(body, lanes); }));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || !node.op->groups) continue;
    const GroupForm& form = *node.op->groups;
    const auto* group = attribute_of<int64_t>(node, form.count);
    const Tensor* weights = constant_of(graph, input_of(node, form.weights));
    if (!group || *group <= 1 || !weights || !is_float(weights->dtype())) continue;
    const int64_t outputs = weights->dims()[0] / *group, inputs = weights->dims()[1];
    if (outputs >= lanes || (outputs == 1 && inputs == 1)) continue;
    int64_t factor = lanes / outputs;
    while (factor > 1 && *group % factor != 0) --factor;
    if (factor == 1) continue;
    std::vector<ValueId> operands = node.inputs;
    ValueId& replaced = operands[form.weights];
    replaced = emit_constant(graph, widened(*weights, *group, factor), graph.value(replaced).name);
    Attributes attributes = node.attributes;
    attributes[std::string(form.count)] = *group / factor;
    TRY_VOID(rewrite(graph, id, node.op->name, std::move(operands), std::move(attributes)));
    ++changes;
  }
  return changes;
}

}  // namespace isomer
