#include "graph/run_order.h"

#include <algorithm>

#include "graph/algorithms.h"

namespace isomer {

Result<RunOrder> run_order(const Graph& graph) {
  RunOrder result;
  TRY(const std::vector<NodeId> order, topological_order(graph));
  result.uses.resize(graph.use_counts().size());
  for (const ValueId output : graph.outputs()) ++result.uses[output.index];
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    const bool needed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId v) { return v.valid() && result.uses[v.index] > 0; });
    if (!needed) continue;
    result.nodes.push_back(*it);
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId value : *list)
        if (value.valid()) ++result.uses[value.index];
  }
  std::reverse(result.nodes.begin(), result.nodes.end());
  return result;
}

}  // namespace isomer
