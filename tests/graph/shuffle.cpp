#include "graph/shuffle.h"

#include <fmt/format.h>

#include <utility>

#include "util/random.h"

namespace isomer::test {

Graph shuffled(const Graph& graph, uint64_t seed) {
  Random random(seed);
  const auto permuted = [&](auto list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
    return list;
  };
  Graph result;
  std::vector<ValueId> copies(graph.values().empty() ? 0 : graph.values().back().index + 1);
  for (const ValueId id : permuted(graph.values())) {
    Value value = graph.value(id);
    value.name = fmt::format("value {}", random.next());
    copies[id.index] = result.add_value(std::move(value));
  }
  const auto renamed = [&](std::vector<ValueId> ids) {
    for (ValueId& id : ids)
      if (id.valid()) id = copies[id.index];
    return ids;
  };
  for (const NodeId id : permuted(graph.nodes())) {
    Node node = graph.node(id);
    node.name = fmt::format("node {}", random.next());
    node.inputs = renamed(node.inputs);
    node.outputs = renamed(node.outputs);
    node.captures = renamed(node.captures);
    for (auto& [name, attribute] : node.attributes)
      if (auto* body = std::get_if<GraphPtr>(&attribute))
        *body = std::make_shared<const Graph>(shuffled(**body, random.next()));
    result.add_node(std::move(node));
  }
  result.set_inputs(renamed(graph.inputs()));
  result.set_outputs(renamed(graph.outputs()));
  result.set_captures(renamed(graph.captures()));
  return result;
}

}  // namespace isomer::test
