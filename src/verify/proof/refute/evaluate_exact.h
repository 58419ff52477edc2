// Graphs over an algebra: what laws and rules are compared on.
#pragma once

#include <map>
#include <vector>

#include "graph/algorithms.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/te/algebra_prime.h"
#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "util/check.h"

namespace isomer::verify {

/// The outputs of a graph of bound dims for inputs in its order. Errors: what has no value in the algebra, nodes
/// without a tensor expression, evaluations beyond the limits.
template <te::RealAlgebra A>
Result<std::vector<te::ValuesOver<A>>> evaluate(const Graph& graph, const te::Concrete<A>& scalars,
                                                const std::vector<te::ValuesOver<A>>& inputs) {
  std::map<ValueId, te::ValuesOver<A>> values;
  for (size_t k = 0; k < graph.inputs().size(); ++k) values.emplace(graph.inputs()[k], inputs[k]);
  const auto value_of = [&](ValueId id) -> Result<const te::ValuesOver<A>*> {
    if (!id.valid()) return nullptr;
    auto found = values.find(id);
    if (found == values.end()) {
      CHECK(graph.is_constant(id)) << graph.value(id).name;
      TRY(te::ValuesOver<A> imported, te::import_tensor(scalars, *graph.value(id).constant));
      found = values.emplace(id, std::move(imported)).first;
    }
    return &found->second;
  };
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || !node.op->compute)
      return unsupported(label(graph, id), "an operator with a tensor expression expected, it has none");
    TRY(const te::Program program, node.op->compute(context_of(graph, id)));
    std::vector<const te::ValuesOver<A>*> arguments;
    for (const ValueId input : node.inputs) {
      TRY(const te::ValuesOver<A>* argument, value_of(input));
      arguments.push_back(argument);
    }
    TRY(std::vector<te::ValuesOver<A>> outputs, te::evaluate(program, scalars, arguments));
    for (size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k)
      if (node.outputs[k].valid()) values.insert_or_assign(node.outputs[k], std::move(outputs[k]));
  }
  std::vector<te::ValuesOver<A>> result;
  for (const ValueId output : graph.outputs()) {
    TRY(const te::ValuesOver<A>* value, value_of(output));
    result.push_back(*value);
  }
  return result;
}

extern template Result<std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::PrimeFieldAlgebra>&,
    const std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>&);
extern template Result<std::vector<te::ValuesOver<te::RationalAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::RationalAlgebra>&, const std::vector<te::ValuesOver<te::RationalAlgebra>>&);

}  // namespace isomer::verify
