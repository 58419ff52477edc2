#include "verify/prover/planned_term.h"

#include <algorithm>

namespace isomer::verify {

int PlannedTerm::new_nodes() const {
  int result = node < 0 ? 1 : 0;
  for (const PlannedTerm& argument : arguments) result += argument.new_nodes();
  return result;
}

std::optional<PlannedTerm> plan(const Pattern& pattern, const SlotValues& values,
                                const std::vector<std::string>& integers, EGraph& graph, Signatures& signatures) {
  if (pattern.kind != Pattern::Kind::kApplication) {
    const int node = pattern.kind == Pattern::Kind::kVariable ? values.tensors[static_cast<size_t>(pattern.variable)]
                                                              : graph.add_number(pattern.number);
    return PlannedTerm{node, graph.node(node).type, 0, 0, {}};
  }
  PlannedTerm result;
  std::vector<int> nodes, types;
  for (const Pattern& argument : pattern.arguments) {
    auto planned = plan(argument, values, integers, graph, signatures);
    if (!planned) return std::nullopt;
    nodes.push_back(planned->node);
    types.push_back(planned->type);
    result.arguments.push_back(*std::move(planned));
  }
  const auto& applied = signatures.apply(operation_of(pattern, values, integers, signatures), types);
  if (!applied.ok() || static_cast<size_t>(pattern.output) >= applied->types.size()) return std::nullopt;
  result.operation = applied->operation;
  result.output = pattern.output;
  result.type = applied->types[static_cast<size_t>(pattern.output)];
  if (std::find(nodes.begin(), nodes.end(), -1) == nodes.end())
    result.node = graph.find(result.operation, result.output, nodes);
  return result;
}

int make(const PlannedTerm& planned, EGraph& graph, std::vector<std::pair<int, int>>& premises) {
  if (planned.arguments.empty() && planned.node >= 0) return planned.node;
  std::vector<int> arguments;
  for (const PlannedTerm& argument : planned.arguments) arguments.push_back(make(argument, graph, premises));
  const int node = graph.add(planned.operation, planned.output, arguments, planned.type);
  // Where there was a congruent one, this term is equal to it because their arguments are.
  for (size_t k = 0; k < arguments.size(); ++k)
    if (const int there = graph.node(node).arguments[k]; there != arguments[k])
      premises.emplace_back(there, arguments[k]);
  return node;
}

}  // namespace isomer::verify
