#include <algorithm>
#include <map>

#include "graph/algorithms.h"
#include "graph/infer.h"
#include "graph/te/program_text.h"
#include "substitutions/program.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;
using verify::Term;

const isomer::Parameter& formal_of(const OpDef& op, size_t input) {
  return op.inputs[std::min(input, op.inputs.size() - 1)];
}

/// A node as an application: which operation, on which of its inputs.
struct Spelled {
  int operation = 0;
  std::vector<size_t> arguments;
  std::vector<int> types;
};

class NodeReader {
 public:
  NodeReader(const Graph& graph, Theory& theory) : graph_(graph), signatures_(theory.signatures()) {}

  /// Nothing where terms can't write the node.
  std::optional<Spelled> read(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.is_opaque() || !node.captures.empty() || !node.op->compute || node.op->inputs.empty()) return std::nullopt;
    Parameters attributes;
    for (const auto& [name, attribute] : node.attributes) {
      auto parameter = verify::parameter_of(attribute);
      if (!parameter) return std::nullopt;
      attributes.emplace(name, *std::move(parameter));
    }
    if (!has_plain_outputs(node)) return std::nullopt;
    for (const ValueId input : node.inputs)
      if (input.valid() && !graph_.value(input).type.has_shape()) return std::nullopt;
    // Layers repeat: each kind of node is read once.
    std::vector<int> key = {signatures_.operation_id(*node.op, attributes), static_cast<int>(node.outputs.size())};
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const auto list = integers(node, k);
      key.push_back(node.inputs[k].valid() ? type_of(node.inputs[k]) : -1);
      key.push_back(list ? signatures_.operation_id(*node.op, {{"", *list}}) : -1);
    }
    const auto [known, is_new] = known_.try_emplace(std::move(key));
    if (is_new) known->second = spell(id, attributes);
    return known->second;
  }

  int type_of(ValueId value) { return signatures_.type_id(graph_.value(value).type); }

 private:
  /// All of them there, and none that its row makes only where it is asked for.
  static bool has_plain_outputs(const Node& node) {
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].valid() ||
          node.op->outputs[std::min(k, node.op->outputs.size() - 1)].arity == isomer::Parameter::Arity::kOptional)
        return false;
    return true;
  }

  /// What the input holds, where it is a constant list of integers, or one.
  std::optional<verify::Parameter> integers(const Node& node, size_t input) const {
    if (!node.inputs[input].valid() || formal_of(*node.op, input).arity == isomer::Parameter::Arity::kVariadic)
      return std::nullopt;
    const Value& value = graph_.value(node.inputs[input]);
    if (!graph_.is_constant(node.inputs[input]) || !value.content || value.type.shape->size() > 1 ||
        !kIndices.contains(value.type.dtype))
      return std::nullopt;
    std::vector<Dim> list;
    for (const auto& each : *value.content) {
      if (!each) return std::nullopt;
      list.push_back(*each);
    }
    if (value.type.shape->empty()) return list.empty() ? std::nullopt : std::optional<verify::Parameter>(list[0]);
    return list;
  }

  struct Proposal {
    Parameters parameters;
    std::vector<size_t> arguments;
    std::vector<ValueType> types;
  };

  Term::Application application(const Node& node, const Proposal& proposal) const {
    return {node.op, 0, proposal.parameters, "", std::vector<Term>(proposal.arguments.size(), Term::variable("x"))};
  }

  Result<std::string> meaning(const Node& node, const Proposal& proposal) const {
    return verify::program_text(application(node, proposal), proposal.types);
  }

  /// These inputs as parameters, the others as arguments; nothing where an argument stands behind an omitted one.
  std::optional<Proposal> propose(const Node& node, const Parameters& attributes,
                                  const std::vector<bool>& named) const {
    Proposal result{attributes, {}, {}};
    bool omitted = false;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (named[k]) {
        result.parameters.insert_or_assign(std::string(formal_of(*node.op, k).name), *integers(node, k));
      } else if (!node.inputs[k].valid()) {
        omitted = true;
      } else {
        if (omitted) return std::nullopt;
        result.arguments.push_back(k);
        result.types.push_back(graph_.value(node.inputs[k]).type);
      }
    }
    return result;
  }

  std::optional<Spelled> spelled(const Node& node, const Proposal& proposal) const {
    Spelled result{signatures_.operation_id(*node.op, proposal.parameters), proposal.arguments, {}};
    std::vector<int> types;
    for (const ValueType& type : proposal.types) types.push_back(signatures_.type_id(type));
    const auto& applied = signatures_.apply(result.operation, types);
    if (!applied.ok()) return std::nullopt;
    result.operation = applied->operation;
    result.types = applied->types;
    return result;
  }

  /// The row says what it computes, and of which types, as the graph has them; no argument is a parameter too.
  bool fits(const Node& node, const Proposal& proposal) const {
    const auto made = meaning(node, proposal).ok() ? spelled(node, proposal) : std::nullopt;
    if (!made || made->types.size() < node.outputs.size()) return false;
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (signatures_.type(made->types[k]) != graph_.value(node.outputs[k]).type) return false;
    const Parameters& parameters = signatures_.operation(made->operation).parameters;
    return std::none_of(made->arguments.begin(), made->arguments.end(),
                        [&](size_t input) { return parameters.contains(formal_of(*node.op, input).name); });
  }

  /// Inputs without which the row can't say so are parameters.
  std::optional<Proposal> decided(const Node& node, const Parameters& attributes) const {
    std::vector<bool> named(node.inputs.size());
    auto plain = propose(node, attributes, named);
    if (plain && fits(node, *plain)) return plain;
    for (size_t k = 0; k < named.size(); ++k) named[k] = integers(node, k).has_value();
    auto result = propose(node, attributes, named);
    if (!result || std::find(named.begin(), named.end(), true) == named.end() || !fits(node, *result))
      return std::nullopt;
    for (size_t k = 0; k < named.size(); ++k) {
      if (!named[k]) continue;
      named[k] = false;
      auto fewer = propose(node, attributes, named);
      if (fewer && fits(node, *fewer))
        result = std::move(fewer);
      else
        named[k] = true;
    }
    return result;
  }

  /// Sizes of parts where the node says their number only: what the outputs have along one axis.
  std::optional<Proposal> with_sizes(NodeId id, const Parameters& attributes) const {
    const Node& node = graph_.node(id);
    if (node.op->outputs.back().arity != isomer::Parameter::Arity::kVariadic) return std::nullopt;
    const Shape& first = *graph_.value(node.outputs[0]).type.shape;
    for (size_t formal = node.inputs.size(); formal < node.op->inputs.size(); ++formal)
      for (size_t axis = 0; axis < first.size(); ++axis)
        for (const AttributeDef& def : node.op->attributes) {
          if (def.required || def.fallback || !attributes.contains(def.name)) continue;
          std::vector<Dim> sizes;
          for (const ValueId output : node.outputs) sizes.push_back((*graph_.value(output).type.shape)[axis]);
          Parameters changed = attributes;
          changed.erase(changed.find(def.name));
          changed.insert_or_assign(std::string(node.op->inputs[formal].name), std::move(sizes));
          auto proposal = propose(node, changed, std::vector<bool>(node.inputs.size()));
          if (!proposal) continue;
          if (!fits(node, *proposal)) continue;
          const auto found = meaning(node, *proposal);
          const auto program = node.op->compute(context_of(graph_, id));
          if (found.ok() && program.ok() && *found == te::print(*program)) return proposal;
        }
    return std::nullopt;
  }

  /// A list that may be the dims of the output is written so: then it says all, whatever -1 and 0 mean in it.
  void write_dims(const Node& node, Proposal& proposal) const {
    const Shape& dims = *graph_.value(node.outputs[0]).type.shape;
    for (const auto& [name, value] : Parameters(proposal.parameters)) {
      const auto* list = std::get_if<std::vector<Dim>>(&value);
      if (!list || list->size() != dims.size() || *list == dims) continue;
      Proposal changed = proposal;
      changed.parameters.insert_or_assign(name, dims);
      const auto before = meaning(node, proposal), after = meaning(node, changed);
      if (before.ok() && after.ok() && *before == *after) proposal = std::move(changed);
    }
  }

  std::optional<Spelled> spell(NodeId id, const Parameters& attributes) {
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs)
      if (!graph_.value(output).type.has_shape()) return std::nullopt;
    auto proposal = decided(node, attributes);
    if (!proposal) proposal = with_sizes(id, attributes);
    if (!proposal) return std::nullopt;
    write_dims(node, *proposal);
    return spelled(node, *proposal);
  }

  const Graph& graph_;
  verify::Signatures& signatures_;
  std::map<std::vector<int>, std::optional<Spelled>> known_;
};

}  // namespace

Result<Program> program_of(const Graph& graph, Theory& theory) {
  auto origin = std::make_shared<Origin>(Origin{graph, &theory, {}, {}});
  Program program(origin);
  TRY(const std::vector<NodeId> order, topological_order(graph));
  NodeReader reader(graph, theory);
  std::map<ValueId, int> values;
  const auto value_of = [&](ValueId id) {
    if (!id.valid()) return -1;
    if (const auto known = values.find(id); known != values.end()) return known->second;
    Leaf leaf{id, std::nullopt, reader.type_of(id), graph.is_constant(id)};
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
        if (output.valid()) types.push_back(reader.type_of(output));
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
