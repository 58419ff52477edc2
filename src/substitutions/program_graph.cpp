#include <algorithm>
#include <map>
#include <numeric>

#include "graph/algorithms.h"
#include "graph/infer.h"
#include "graph/passes/remove_dead.h"
#include "graph/te/program_text.h"
#include "substitutions/program.h"
#include "util/check.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;
using verify::Term;

const isomer::Parameter& formal_of(const OpDef& op, size_t input) { return op.inputs[std::min(input, op.inputs.size() - 1)]; }

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
      if (!node.outputs[k].valid() || node.op->outputs[std::min(k, node.op->outputs.size() - 1)].arity == isomer::Parameter::Arity::kOptional) return false;
    return true;
  }

  /// What the input holds, where it is a constant list of integers, or one.
  std::optional<verify::Parameter> integers(const Node& node, size_t input) const {
    if (!node.inputs[input].valid() || formal_of(*node.op, input).arity == isomer::Parameter::Arity::kVariadic) return std::nullopt;
    const Value& value = graph_.value(node.inputs[input]);
    if (!graph_.is_constant(node.inputs[input]) || !value.content || value.type.shape->size() > 1 || !kIndices.contains(value.type.dtype)) return std::nullopt;
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

  Result<std::string> meaning(const Node& node, const Proposal& proposal) const { return verify::program_text(application(node, proposal), proposal.types); }

  /// These inputs as parameters, the others as arguments; nothing where an argument stands behind an omitted one.
  std::optional<Proposal> propose(const Node& node, const Parameters& attributes, const std::vector<bool>& named) const {
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
    return std::none_of(made->arguments.begin(), made->arguments.end(), [&](size_t input) { return parameters.contains(formal_of(*node.op, input).name); });
  }

  /// Inputs without which the row can't say so are parameters.
  std::optional<Proposal> decided(const Node& node, const Parameters& attributes) const {
    std::vector<bool> named(node.inputs.size());
    auto plain = propose(node, attributes, named);
    if (plain && fits(node, *plain)) return plain;
    for (size_t k = 0; k < named.size(); ++k) named[k] = integers(node, k).has_value();
    auto result = propose(node, attributes, named);
    if (!result || std::find(named.begin(), named.end(), true) == named.end() || !fits(node, *result)) return std::nullopt;
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

/// Writes a program into a copy of its origin's graph: all nodes are made anew, in order, on the values that are there.
class GraphWriter {
 public:
  explicit GraphWriter(const Program& program) : program_(program), graph_(program.origin().graph), ids_(static_cast<size_t>(program.value_count())) {}

  Result<Graph> run() {
    const Graph& before = program_.origin().graph;
    for (const NodeId id : graph_.nodes()) graph_.remove_node(id);
    for (int value = 0; value < program_.value_count(); ++value)
      if (program_.value(value).producer < 0) write_leaf(value);
    name_outputs();
    const auto order = program_.order();
    CHECK(order) << "a program without cycle expected";
    for (const int application : *order) TRY_VOID(write(application));
    for (size_t k = 0; k < program_.outputs().size(); ++k) {
      const ValueId named = before.outputs()[k], made = ids_[static_cast<size_t>(program_.outputs()[k])];
      if (named == made || graph_.value(named).producer.valid()) continue;
      Node copy;
      copy.op = find_op("", "Identity");
      copy.op_type = copy.op->name;
      copy.inputs = {made};
      copy.outputs = {named};
      graph_.add_node(std::move(copy));
    }
    TRY_VOID(infer(graph_));
    const OptimizeOptions options;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    TRY_VOID(remove_dead(graph_, context));
    return std::move(graph_);
  }

 private:
  ValueId& id_of(int value) { return ids_[static_cast<size_t>(value)]; }

  void write_leaf(int value) {
    const Leaf& leaf = program_.origin().leaves[static_cast<size_t>(program_.value(value).index)];
    id_of(value) = leaf.value.valid() ? leaf.value
                                      : graph_.add_constant(Tensor::scalar(program_.theory().signatures().type(leaf.type).dtype, leaf.number->to_double()), graph_.fresh_name("number"));
  }

  /// The graph's outputs go first: whatever makes one takes its name.
  void name_outputs() {
    const std::vector<ValueId>& named = program_.origin().graph.outputs();
    for (size_t k = 0; k < named.size(); ++k) {
      const int value = program_.outputs()[k];
      const bool is_taken = std::find(ids_.begin(), ids_.end(), named[k]) != ids_.end();
      if (program_.value(value).producer >= 0 && !id_of(value).valid() && !is_taken) id_of(value) = named[k];
    }
  }

  /// The value that the node made before, unless it is now an output made elsewhere.
  void name_value(int value, ValueId before, std::string_view hint) {
    ValueId& id = id_of(value);
    if (id.valid()) return;
    const std::vector<ValueId>& named = program_.origin().graph.outputs();
    if (before.valid() && std::find(named.begin(), named.end(), before) == named.end()) {
      id = before;
      return;
    }
    Value made;
    made.name = graph_.fresh_name(hint);
    made.type = program_.theory().signatures().type(program_.value(value).type);
    id = graph_.add_value(std::move(made));
  }

  Result<void> write(int application) {
    const Program::Application& there = program_.application(application);
    if (there.node.valid()) {
      rewrite(application, program_.origin().graph.node(there.node));
      return {};
    }
    return make(application);
  }

  void rewrite(int application, Node node) {
    const Program::Application& there = program_.application(application);
    const auto arguments = program_.arguments(application);
    size_t next = 0;
    if (there.operation == Program::kOpaque) {
      for (auto* list : {&node.inputs, &node.captures})
        for (ValueId& input : *list)
          if (const int argument = arguments[next++]; argument >= 0) input = id_of(argument);
    } else {
      for (const size_t input : program_.origin().argument_inputs[static_cast<size_t>(there.node.index)]) node.inputs[input] = id_of(arguments[next++]);
    }
    int value = there.first_value;
    for (ValueId& output : node.outputs) {
      if (!output.valid()) continue;
      name_value(value, output, graph_.value(output).name);
      output = id_of(value++);
    }
    graph_.add_node(std::move(node));
  }

  /// What a rule made, as the graph of a term over its arguments has it.
  Result<void> make(int application) {
    const Program::Application& there = program_.application(application);
    verify::Signatures& signatures = program_.theory().signatures();
    const auto arguments = program_.arguments(application);
    std::vector<int> types;
    verify::VariableTypes variables;
    std::vector<Term> terms;
    for (size_t k = 0; k < arguments.size(); ++k) {
      types.push_back(program_.value(arguments[k]).type);
      const std::string name = fmt::format("x{:06}", k);
      variables.emplace(name, signatures.type(types.back()));
      terms.push_back(Term::variable(name));
    }
    const auto form = program_.theory().constant_form(there.operation, types);
    const auto& operation = signatures.operation(there.operation);
    if (!form) return unsupported(std::string(operation.op->name), "numbers for its parameters expected, sizes that are not known found");
    TRY(const Graph alone, verify::graph_of({Term(Term::Application{operation.op, 0, signatures.operation(*form).parameters, "", terms})}, variables));
    Node node = alone.node(alone.nodes().front());
    for (ValueId& input : node.inputs) {
      const auto variable = std::find(alone.inputs().begin(), alone.inputs().end(), input);
      if (variable != alone.inputs().end())
        input = id_of(arguments[static_cast<size_t>(variable - alone.inputs().begin())]);
      else if (input.valid())
        input = graph_.add_constant(*alone.value(input).constant, graph_.fresh_name("integers"));
    }
    node.outputs.clear();
    for (int k = 0; k < there.value_count; ++k) {
      name_value(there.first_value + k, {}, operation.op->name);
      node.outputs.push_back(id_of(there.first_value + k));
    }
    graph_.add_node(std::move(node));
    return {};
  }

  const Program& program_;
  Graph graph_;
  std::vector<ValueId> ids_;
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
    if (leaf.is_constant && value.constant && value.constant->dims().empty() && is_computable(value.constant->dtype())) leaf.number = value.constant->at(0);
    origin->leaves.push_back(std::move(leaf));
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
    int value = program.application(program.add_application(spelled ? spelled->operation : Program::kOpaque, arguments, types, id)).first_value;
    for (const ValueId output : node.outputs)
      if (output.valid()) values.emplace(output, value++);
  }
  std::vector<int> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(value_of(output));
  program.set_outputs(std::move(outputs));
  return program;
}

Result<Graph> graph_of(const Program& program) { return GraphWriter(program).run(); }

}  // namespace isomer::substitutions
