#include "graph/onnx/arity.h"

#include <algorithm>

#include "graph/op_def.h"

namespace isomer {

size_t least_inputs(const Node& node) {
  const OpDef* op = node.op ? node.op : find_op(node.domain, node.op_type);
  const bool ends_in_list = op && !op->inputs.empty() && op->inputs.back().arity == Parameter::Arity::kVariadic;
  return ends_in_list ? op->inputs.size() - 1 : 0;
}

size_t least_outputs(const Node& node) {
  if (node.is_opaque()) return 0;
  // Control flow without outputs does nothing.
  if (node.outputs.empty() && node.op->outputs.back().heterogeneous) return 0;
  size_t least = node.op->outputs.size();
  while (least > 0 && node.op->outputs[least - 1].arity == Parameter::Arity::kOptional) --least;
  return least;
}

bool must_be_named(const Node& node, size_t i) {
  if (node.is_opaque() || node.op->outputs.empty()) return false;
  const std::vector<Parameter>& formal = node.op->outputs;
  return formal[std::min(i, formal.size() - 1)].arity != Parameter::Arity::kOptional;
}

Result<void> check_outputs(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < std::max(node.outputs.size(), least_outputs(node)); ++i)
      if (must_be_named(node, i) && !(i < node.outputs.size() && node.outputs[i].valid()))
        return invalid(label(graph, id), "a name for output {} expected, none found", i);
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* body = std::get_if<GraphPtr>(&attribute)) TRY_VOID(check_outputs(**body));
      if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (const GraphPtr& body : *bodies) TRY_VOID(check_outputs(*body));
    }
  }
  return {};
}

}  // namespace isomer
