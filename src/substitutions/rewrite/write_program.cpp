#include <algorithm>

#include "graph/infer.h"
#include "graph/passes/remove_dead.h"
#include "substitutions/rewrite/program.h"
#include "util/check.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

/// Writes a program into a copy of its origin's graph: all nodes are made anew, in order, on the values that are there.
class GraphWriter {
 public:
  GraphWriter(const Program& program, const std::map<int, Tensor>& known)
      : program_(program),
        known_(known),
        graph_(program.origin().graph),
        ids_(static_cast<size_t>(program.value_count())) {}

  Result<Graph> run() {
    const Graph& before = program_.origin().graph;
    for (const NodeId id : graph_.nodes()) graph_.remove_node(id);
    for (int value = 0; value < program_.value_count(); ++value)
      if (program_.value(value).producer < 0) write_leaf(value);
    for (const auto& [value, tensor] : known_)
      id_of(value) = graph_.add_constant(tensor, graph_.fresh_name(name_below(value)));
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
    // What nobody reads of a node that stays is no matter of rewriting.
    PassOptions options;
    options.fp = FloatMode::kStrict;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    TRY_VOID(remove_dead(graph_, context));
    return std::move(graph_);
  }

 private:
  ValueId& id_of(int value) { return ids_[static_cast<size_t>(value)]; }

  void write_leaf(int value) {
    const Leaf& leaf = program_.origin().leaves[static_cast<size_t>(program_.value(value).index)];
    id_of(value) = leaf.value.valid()
                       ? leaf.value
                       : graph_.add_constant(Tensor::scalar(program_.theory().signatures().type(leaf.type).dtype,
                                                            leaf.number->to_double()),
                                             graph_.fresh_name("number"));
  }

  /// That of the largest constant that the value is computed from.
  std::string name_below(int value) const {
    std::string name = "constant";
    int64_t most = -1;
    std::vector<int> open = {value};
    for (size_t k = 0; k < open.size(); ++k) {
      const Program::Value& there = program_.value(open[k]);
      if (there.producer >= 0) {
        const auto arguments = program_.arguments(there.producer);
        open.insert(open.end(), arguments.begin(), arguments.end());
        continue;
      }
      const ValueId leaf = program_.origin().leaves[static_cast<size_t>(there.index)].value;
      if (!leaf.valid() || !graph_.value(leaf).constant || graph_.value(leaf).constant->count() <= most) continue;
      most = graph_.value(leaf).constant->count();
      name = graph_.value(leaf).name;
    }
    return name;
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
    if (there.value_count == 1 && known_.contains(there.first_value)) return {};
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
      for (const size_t input : program_.origin().argument_inputs[static_cast<size_t>(there.node.index)])
        node.inputs[input] = id_of(arguments[next++]);
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
    if (!form)
      return unsupported(std::string(operation.op->name),
                         "numbers for its parameters expected, sizes that are not known found");
    TRY(const Graph alone,
        verify::graph_of({Term(Term::Application{operation.op, 0, signatures.operation(*form).parameters, "", terms})},
                         variables));
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
  const std::map<int, Tensor>& known_;
  Graph graph_;
  std::vector<ValueId> ids_;
};

}  // namespace

Result<Graph> graph_of(const Program& program, const std::map<int, Tensor>& known) {
  return GraphWriter(program, known).run();
}

}  // namespace isomer::substitutions
