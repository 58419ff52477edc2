#include "verify/check/node_program.h"

#include "graph/infer.h"
#include "graph/op_context.h"

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

}  // namespace isomer
