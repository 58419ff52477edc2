#include "verify/proof/node_reader.h"

#include <algorithm>

#include "graph/infer.h"
#include "graph/node_program.h"
#include "graph/te/program_text.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify {
namespace {

const isomer::Parameter& formal_of(const OpDef& op, size_t input) {
  return op.inputs[std::min(input, op.inputs.size() - 1)];
}

/// All of them there, and none that its row makes only where it is asked for.
bool has_plain_outputs(const Node& node) {
  for (size_t k = 0; k < node.outputs.size(); ++k)
    if (!node.outputs[k].valid() ||
        node.op->outputs[std::min(k, node.op->outputs.size() - 1)].arity == isomer::Parameter::Arity::kOptional)
      return false;
  return true;
}

/// What the input holds, where it is a constant list of integers, or one.
std::optional<Parameter> integers_at(const Graph& graph, const Node& node, size_t input) {
  if (!node.inputs[input].valid() || formal_of(*node.op, input).arity == isomer::Parameter::Arity::kVariadic)
    return std::nullopt;
  const Value& value = graph.value(node.inputs[input]);
  if (!graph.is_constant(node.inputs[input]) || !value.content || value.type.shape->size() > 1 ||
      !kIndices.contains(value.type.dtype))
    return std::nullopt;
  std::vector<Dim> list;
  for (const auto& each : *value.content) {
    if (!each) return std::nullopt;
    list.push_back(*each);
  }
  if (value.type.shape->empty()) return list.empty() ? std::nullopt : std::optional<Parameter>(list[0]);
  return list;
}

class NodeSpeller {
 public:
  NodeSpeller(const Graph& graph, Signatures& signatures) : graph_(graph), signatures_(signatures) {}

  std::optional<SpelledNode> spell(NodeId id, const Parameters& attributes) const {
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs)
      if (!graph_.value(output).type.has_shape()) return std::nullopt;
    auto proposal = decided(node, attributes);
    if (!proposal) proposal = with_sizes(id, attributes);
    if (!proposal) return std::nullopt;
    write_dims(node, *proposal);
    return spelled(node, *proposal);
  }

 private:
  struct Proposal {
    Parameters parameters;
    std::vector<size_t> arguments;
    std::vector<ValueType> types;
  };

  Result<std::string> meaning(const Node& node, const Proposal& proposal) const {
    // Terms stand in for arguments: only their number is read.
    const std::vector<Term> arguments(proposal.arguments.size(), Term::variable("x"));
    return program_text({node.op, 0, proposal.parameters, "", arguments}, proposal.types);
  }

  /// These inputs as parameters, the others as arguments; nothing where an argument stands behind an omitted one.
  std::optional<Proposal> propose(const Node& node, const Parameters& attributes,
                                  const std::vector<bool>& named) const {
    Proposal result{attributes, {}, {}};
    bool omitted = false;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (named[k]) {
        result.parameters.insert_or_assign(std::string(formal_of(*node.op, k).name), *integers_at(graph_, node, k));
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

  std::optional<SpelledNode> spelled(const Node& node, const Proposal& proposal) const {
    SpelledNode result{signatures_.operation_id(*node.op, proposal.parameters), proposal.arguments, {}};
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
    return std::ranges::none_of(made->arguments,
                                [&](size_t input) { return parameters.contains(formal_of(*node.op, input).name); });
  }

  /// Inputs without which the row can't say so are parameters.
  std::optional<Proposal> decided(const Node& node, const Parameters& attributes) const {
    std::vector<bool> named(node.inputs.size());
    auto plain = propose(node, attributes, named);
    if (plain && fits(node, *plain)) return plain;
    for (size_t k = 0; k < named.size(); ++k) named[k] = integers_at(graph_, node, k).has_value();
    auto result = propose(node, attributes, named);
    if (!result || std::ranges::find(named, true) == named.end() || !fits(node, *result)) return std::nullopt;
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
          if (!proposal || !fits(node, *proposal)) continue;
          const auto found = meaning(node, *proposal);
          const auto program = program_of(graph_, id);
          if (found.ok() && program && *found == te::print(*program)) return proposal;
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

  const Graph& graph_;
  Signatures& signatures_;
};

}  // namespace

std::optional<SpelledNode> NodeReader::read(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.is_opaque() || !node.captures.empty() || !node.op->compute || node.op->inputs.empty()) return std::nullopt;
  Parameters attributes;
  for (const auto& [name, attribute] : node.attributes) {
    auto parameter = parameter_of(attribute);
    if (!parameter) return std::nullopt;
    attributes.emplace(name, *std::move(parameter));
  }
  if (!has_plain_outputs(node)) return std::nullopt;
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph_.value(input).type.has_shape()) return std::nullopt;
  // Layers repeat: each kind of node is read once.
  std::vector<int> key = {signatures_.operation_id(*node.op, attributes), static_cast<int>(node.outputs.size())};
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const auto list = integers_at(graph_, node, k);
    key.push_back(node.inputs[k].valid() ? signatures_.type_id(graph_.value(node.inputs[k]).type) : -1);
    key.push_back(list ? signatures_.operation_id(*node.op, {{"", *list}}) : -1);
  }
  const auto [known, is_new] = known_.try_emplace(std::move(key));
  if (is_new) known->second = NodeSpeller(graph_, signatures_).spell(id, attributes);
  return known->second;
}

}  // namespace isomer::verify
