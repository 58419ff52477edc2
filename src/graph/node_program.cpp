#include "graph/node_program.h"

#include "graph/infer.h"
#include "graph/memory_estimate.h"

namespace isomer {

std::optional<te::Program> program_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.is_opaque() || !node.op->compute) return std::nullopt;
  const OpContext context = context_of(graph, id);
  for (int i = 0; i < context.input_count(); ++i)
    if (context.has_input(i) && !context.type(i).has_shape()) return std::nullopt;
  auto program = node.op->compute(context);
  if (!program.ok()) return std::nullopt;
  return std::move(*program);
}

Result<te::Program> program_for(Graph graph, std::span<const te::Approximate> inputs, int64_t most_bytes) {
  const NodeId id = graph.nodes().front();
  const Node node = graph.node(id);
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid() || graph.is_constant(node.inputs[k])) continue;
    const te::Array& array = inputs[k].value;
    Value& formal = graph.edit(node.inputs[k]);
    formal.type = ValueType::tensor(array.dtype(), Shape(array.dims().begin(), array.dims().end()));
    if (!is_float(array.dtype()) && inputs[k].distance.is_zero()) formal.content = content_of(te::to_tensor(array));
  }
  TRY_VOID(infer(graph));
  if (graph.node(id).is_opaque() || !node.op->compute)
    return unsupported(node.op_type, "an operator with a tensor expression expected");
  TRY(const GraphMemory memory, memory_to_interpret(graph));
  if (!memory.is_complete || memory.peak > most_bytes)
    return unsupported(node.op_type, "a value expected that takes at most {} bytes to compute", most_bytes);
  return node.op->compute(context_of(graph, id));
}

}  // namespace isomer
