#include "properties/mutate.h"

#include <fmt/format.h>

#include "graph/hash.h"
#include "graph/op_def.h"

namespace isomer::test {
namespace {

/// One bit of a constant that is read.
std::optional<Mutant> flip_a_bit(const Graph& graph, Random& random) {
  const std::vector<int> uses = graph.use_counts();
  std::vector<ValueId> constants;
  for (const ValueId id : graph.values())
    if (graph.is_constant(id) && uses[id.index] > 0 && graph.value(id).constant->dtype() != DataType::kBool &&
        !graph.value(id).constant->bytes().empty())
      constants.push_back(id);
  if (constants.empty()) return std::nullopt;
  const ValueId id = constants[random.below(constants.size())];
  Mutant mutant{graph, fmt::format("a bit of constant {}", graph.value(id).name)};
  const Tensor& old = *graph.value(id).constant;
  std::vector<std::byte> bytes(old.bytes().begin(), old.bytes().end());
  bytes[random.below(bytes.size())] ^= std::byte{1} << random.below(8);
  mutant.graph.edit(id).constant = Tensor(old.dtype(), old.dims(), std::move(bytes));
  return mutant;
}

std::optional<Mutant> change_an_attribute(const Graph& graph, Random& random) {
  const auto nodes = graph.nodes();
  const NodeId id = nodes[random.below(nodes.size())];
  Mutant mutant{graph, ""};
  for (auto& [name, attribute] : mutant.graph.edit(id).attributes) {
    if (auto* number = std::get_if<int64_t>(&attribute))
      ++*number;
    else if (auto* real = std::get_if<float>(&attribute))
      *real = *real * 2 + 1;
    else if (auto* list = std::get_if<std::vector<int64_t>>(&attribute))
      list->push_back(1);
    else
      continue;
    mutant.change = fmt::format("attribute {} of {}", name, label(graph, id));
    return mutant;
  }
  return std::nullopt;
}

/// An input of a node becomes a value that means something else.
std::optional<Mutant> rewire(const Graph& graph, Random& random) {
  const auto nodes = graph.nodes();
  const auto hashes = value_hashes(graph);
  const size_t position = random.below(nodes.size());
  const Node& node = graph.node(nodes[position]);
  if (node.inputs.empty()) return std::nullopt;
  const size_t input = random.below(node.inputs.size());
  std::vector<ValueId> earlier = graph.inputs();
  for (size_t k = 0; k < position; ++k)
    for (const ValueId output : graph.node(nodes[k]).outputs)
      if (output.valid()) earlier.push_back(output);
  if (earlier.empty() || !node.inputs[input].valid()) return std::nullopt;
  const ValueId other = earlier[random.below(earlier.size())];
  if (hashes[other.index] == hashes[node.inputs[input].index]) return std::nullopt;
  Mutant mutant{
      graph, fmt::format("input {} of {} becomes {}", input, label(graph, nodes[position]), graph.value(other).name)};
  mutant.graph.edit(nodes[position]).inputs[input] = other;
  return mutant;
}

std::optional<Mutant> swap_outputs(const Graph& graph, Random& random) {
  std::vector<ValueId> outputs = graph.outputs();
  if (outputs.size() < 2) return std::nullopt;
  const auto hashes = value_hashes(graph);
  const size_t first = random.below(outputs.size()), second = random.below(outputs.size());
  if (hashes[outputs[first].index] == hashes[outputs[second].index]) return std::nullopt;
  std::swap(outputs[first], outputs[second]);
  Mutant mutant{graph, fmt::format("outputs {} and {} in each other's place", first, second)};
  mutant.graph.set_outputs(std::move(outputs));
  return mutant;
}

}  // namespace

std::optional<Mutant> mutated(const Graph& graph, Random& random) {
  switch (random.below(4)) {
    case 0: return flip_a_bit(graph, random);
    case 1: return change_an_attribute(graph, random);
    case 2: return rewire(graph, random);
    default: return swap_outputs(graph, random);
  }
}

}  // namespace isomer::test
