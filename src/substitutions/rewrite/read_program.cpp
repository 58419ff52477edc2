#include <map>

#include "graph/algorithms.h"
#include "substitutions/rewrite/program.h"
#include "verify/proof/node_reader.h"

namespace isomer::substitutions {

Result<Program> program_of(const Graph& graph, Theory& theory, Dequantized dequantized) {
  auto origin = std::make_shared<Origin>(Origin{graph, &theory, dequantized});
  Program program(origin);
  TRY(const std::vector<NodeId> order, topological_order(graph));
  verify::NodeReader reader(graph, theory.signatures());
  std::map<ValueId, int> values;
  const auto value_of = [&](ValueId id) {
    if (!id.valid()) return -1;
    if (const auto known = values.find(id); known != values.end()) return known->second;
    Leaf leaf{id, std::nullopt, theory.signatures().type_id(graph.value(id).type), graph.is_constant(id)};
    const Value& value = graph.value(id);
    if (leaf.is_constant && value.constant && value.constant->dims().empty() && is_computable(value.constant->dtype()))
      leaf.number = value.constant->number(0);
    origin->leaves.push_back(leaf);
    return values[id] = program.add_leaf(static_cast<int>(origin->leaves.size()) - 1);
  };
  for (const ValueId input : graph.inputs()) value_of(input);
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const auto spelled = reader.read(id);
    std::vector<int> arguments, types;
    if (spelled) {
      for (const size_t input : spelled->arguments) arguments.push_back(value_of(node.inputs[input]));
      types = spelled->types;
      origin->argument_inputs.resize(std::max(origin->argument_inputs.size(), static_cast<size_t>(id.index) + 1));
      origin->argument_inputs[static_cast<size_t>(id.index)] = spelled->arguments;
    } else {
      for (const auto* list : {&node.inputs, &node.captures})
        for (const ValueId input : *list) arguments.push_back(value_of(input));
      for (const ValueId output : node.outputs)
        if (output.valid()) types.push_back(theory.signatures().type_id(graph.value(output).type));
    }
    int value =
        program
            .application(program.add_application(spelled ? spelled->operation : Program::kOpaque, arguments, types, id))
            .first_value;
    for (const ValueId output : node.outputs)
      if (output.valid()) values.emplace(output, value++);
  }
  std::vector<int> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(value_of(output));
  program.set_outputs(std::move(outputs));
  return program;
}

}  // namespace isomer::substitutions
