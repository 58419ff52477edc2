#include "substitutions/proof/proof_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/infer.h"
#include "graph/infer_anew.h"
#include "graph/mark_given.h"
#include "graph/node_form.h"
#include "graph/node_program.h"
#include "graph/rounding.h"
#include "graph/text.h"
#include "util/append.h"
#include "util/parse_number.h"
#include "verify/proof/same_elements.h"

namespace isomer::substitutions {
namespace {

using verify::Ledger;
using verify::Term;

/// What computing one value again may take in memory.
constexpr int64_t kMaxMemory = int64_t{1} << 30;
constexpr int kMaxOperators = 100;

bool is_constant(const Term& term) { return std::holds_alternative<Term::Number>(term.form()); }

/// "%12"
std::optional<int> number_in(std::string_view name) {
  return name.starts_with('%') ? parse_number<int>(name.substr(1)) : std::nullopt;
}

}  // namespace

std::vector<int> listed(const Graph& graph, const Ledger::Numbers& numbers, const std::vector<ValueId>& values) {
  std::vector<int> result;
  for (const ValueId id : values)
    if (numbers.at(id) >= 0) result.push_back(numbers.at(id));
  for (const auto& [place, bodies] : numbers.bodies) {
    const auto graphs = bodies_of(graph.node(place.first).attributes.find(place.second)->second);
    for (size_t k = 0; k < bodies.size(); ++k) append(result, listed(*graphs[k], bodies[k], graphs[k]->values()));
  }
  return result;
}

ProofSteps::ProofSteps(Laws& laws, FloatMode granted)
    : laws_(laws),
      granted_(granted),
      ledger_(
          laws.signatures(), [&laws](const OpDef* op, int left, int right) { return laws.commutes(op, left, right); },
          granted == FloatMode::kStrict) {
  laws_.commute_within(granted);
}

Result<Ledger::Numbers> ProofSteps::read_input(const Graph& model) {
  info_ = model.info();
  Graph graph = model;
  // What is stated in a body is so where the body runs: its values have the numbers of those outside that are equal.
  forget_stated_types(graph, Stated::kInBodies);
  return read(std::move(graph), {});
}

Result<Ledger::Numbers> ProofSteps::read_output(const Graph& model, const OutputStep& step) {
  Graph graph = model;
  forget_stated_types(graph);
  const std::vector<ValueId> values = graph.values();
  std::vector<ValueId> formals = graph.inputs();
  std::vector<int> inputs(formals.size(), -1);
  for (size_t k = 0; k < std::min(step.constants.size(), step.values.size()); ++k) {
    const auto place = static_cast<size_t>(step.constants[k]) - numbered_.size();
    TRY(const int known, value(step.values[k]));
    if (place >= values.size() || !graph.is_constant(values[place]) ||
        !ledger_.is_rounded_to(known, *graph.value(values[place]).constant))
      return invalid("", "a constant that a fold rounded %{} to expected", step.values[k]);
    // Nothing is inferred of the bits: they stand for another number.
    forget_elements(graph, values[place]);
    formals.push_back(values[place]);
    inputs.push_back(known);
  }
  graph.set_inputs(std::move(formals));
  return read(std::move(graph), inputs);
}

Result<Ledger::Numbers> ProofSteps::read(Graph model, const std::vector<int>& inputs) {
  mark_given(model, given_);
  TRY_VOID(infer_anew(model, ledger_.depth(inputs)));
  TRY(Ledger::Numbers numbers, ledger_.add(model, inputs));
  append(numbered_, listed(model, numbers, model.values()));
  return numbers;
}

void ProofSteps::add_rules(std::span<const Rule> rules) {
  for (const Rule& rule : rules) rules_.try_emplace(rule.name, rule);
}

Result<int> ProofSteps::value(int number) const {
  if (number < 0 || number >= count()) return invalid("", "a value below %{} expected, %{} found", count(), number);
  return numbered_[static_cast<size_t>(number)];
}

Result<void> ProofSteps::allow(FloatClass float_class) const {
  if (allows(granted_, float_class)) return {};
  return Error{ErrorKind::kMismatch, "",
               fmt::format("a step that --fp {} allows expected, one of class {} found", isomer::name(granted_),
                           name(float_class))};
}

Result<ProofSteps::Taken> ProofSteps::take(const ProofStep& step) {
  TRY(Taken taken, std::visit([&](const auto& one) { return done(one); }, step));
  append(numbered_, taken.made);
  return taken;
}

Result<ProofSteps::Taken> ProofSteps::done(const OutputStep&) {
  return invalid("", "the output model once expected, it was read already");
}

Result<Ledger::Numbers> ProofSteps::place(Graph& graph, const std::vector<int>& values) {
  graph.edit_info() = info_;
  forget_stated_types(graph);
  mark_given(graph, given_);
  std::vector<ValueId> given = graph.inputs(), formals;
  std::vector<int> inputs;
  for (size_t k = 0; k < given.size(); ++k) {
    if (const Tensor* constant = ledger_.tensor(values[k])) {
      graph.replace_uses(given[k], graph.add_constant(*constant, graph.fresh_name(graph.value(given[k]).name)));
      continue;
    }
    Value& formal = graph.edit(given[k]);
    formal.type = ledger_.type(values[k]);
    formal.content = ledger_.content(values[k]);
    formals.push_back(given[k]);
    inputs.push_back(values[k]);
  }
  graph.set_inputs(std::move(formals));
  TRY_VOID(infer_anew(graph, ledger_.depth(inputs)));
  return ledger_.add(graph, inputs);
}

Result<ProofSteps::Taken> ProofSteps::done(const MakeStep& step) {
  TRY(Graph graph, parse_graph(step.graph, {}, info_.operators));
  std::vector<ValueId> made = graph.values();
  std::vector<int> values;
  for (const ValueId id : graph.inputs()) {
    std::erase(made, id);
    const auto number = number_in(graph.value(id).name);
    if (!number) return invalid(graph.value(id).name, "an input named after a value such as %12 expected");
    TRY(values.emplace_back(), value(*number));
  }
  TRY(const Ledger::Numbers numbers, place(graph, values));
  return Taken{listed(graph, numbers, made)};
}

Result<int> ProofSteps::evaluate(const Term& term, DataType dtype, Evaluated& made) {
  if (const auto* variable = term.as_variable()) {
    const auto bound = made.tensors.find(variable->name);
    if (bound == made.tensors.end()) return invalid(variable->name, "a value for each variable expected, none found");
    return bound->second;
  }
  if (is_constant(term)) {
    const te::Number& number = std::get<Term::Number>(term.form()).value;
    const Tensor tensor = Tensor::scalar(dtype, number.to_double());
    if (tensor.number(0) != number) return invalid(term.text(), "a number that {} has expected", name(dtype));
    made.made.push_back(ledger_.constant(tensor));
    return made.made.back();
  }
  const auto& application = *term.as_application();
  std::vector<int> operands(application.arguments.size(), -1);
  std::vector<ValueType> types;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (is_constant(application.arguments[k])) continue;
    TRY(operands[k], evaluate(application.arguments[k], dtype, made));
    types.push_back(ledger_.type(operands[k]));
  }
  const DataType beside = verify::dtype_beside(types, condition_count(*application.op));
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k] < 0) {
      TRY(operands[k], evaluate(application.arguments[k], beside, made));
    }
  TRY(const std::vector<int> outputs,
      ledger_.apply(laws_.signatures().operation_id(*application.op, application.parameters), operands));
  if (application.output >= static_cast<int>(outputs.size()))
    return invalid(term.text(), "an output below {} expected", outputs.size());
  append(made.made, outputs);
  return outputs[static_cast<size_t>(application.output)];
}

Result<ProofSteps::Taken> ProofSteps::done(const RuleStep& step) {
  const auto rule = rules_.find(step.rule);
  if (rule == rules_.end()) return invalid(step.rule, "a rule of the proof expected, none of this name found");
  Taken taken{{}, float_class_of(rule->second.proof, laws_.axioms())};
  TRY_VOID(allow(taken.float_class));
  RuleInstance instance;
  Evaluated made;
  for (const auto& [name, number] : step.tensors) {
    TRY(const int known, value(number));
    const ValueType& type = ledger_.type(known);
    if (!type.has_shape()) return invalid(name, "a tensor of known rank expected, {} found", type.text());
    if (!made.tensors.emplace(name, known).second)
      return invalid(name, "each variable once expected, another value found");
    instance.types.emplace(name, type);
  }
  instance.names = step.names;
  if (auto holds = holds_at(rule->second, instance, laws_.axioms(), laws_.signatures()); !holds.ok())
    return std::move(holds).error().within("its proof does not hold here");
  std::vector<std::pair<int, int>> equal;
  for (const Output& output : equations_at(rule->second, instance)) {
    const bool is_left = !is_constant(output.left);
    DataType dtype = DataType::kFloat32;
    std::pair<int, int> both;
    // A number alone takes its type from the other side.
    for (const bool left : {is_left, !is_left}) {
      TRY((left ? both.first : both.second), evaluate(left ? output.left : output.right, dtype, made));
      dtype = ledger_.type(left ? both.first : both.second).dtype;
    }
    equal.push_back(both);
  }
  for (const auto& [left, right] : equal) TRY_VOID(ledger_.merge(left, right));
  taken.made = std::move(made.made);
  return taken;
}

Result<Ledger::Part> ProofSteps::part_of(int number) const {
  TRY(const int known, value(number));
  TRY(Ledger::Part part, ledger_.part_of(known));
  part.graph.edit_info() = info_;
  return part;
}

Result<te::Approximate> ProofSteps::compute(int value, Computed& computed) {
  const int leader = ledger_.leader(value);
  if (const auto known = computed.known.find(leader); known != computed.known.end()) return known->second;
  if (const te::RoundedTensor* constant = ledger_.rounded(value); constant && computed.operators > 0)
    return te::Approximate{te::Array::from(constant->tensor), constant->distance, constant->exact};
  if (++computed.operators > kMaxOperators)
    return unsupported("", "at most {} operators between a value and its constants expected", kMaxOperators);
  TRY(Ledger::Part part, ledger_.part_of(value));
  const Node node = part.graph.node(part.node);
  std::vector<te::Approximate> arguments;
  for (const ValueId input : node.inputs) {
    te::Approximate& argument = arguments.emplace_back();
    const int of = part.of(input);
    if (of >= 0) {
      TRY(argument, compute(of, computed));
      // What runtimes round here is not: an integer may come of it, too, and be another.
      if (!ledger_.rounded(of) && is_float(argument.value.dtype()))
        computed.float_class = std::max(computed.float_class, FloatClass::kReassociated);
    } else if (input.valid()) {
      argument.value = te::Array::from(*part.graph.value(input).constant);
    }
  }
  part.graph.set_outputs({node.outputs[static_cast<size_t>(part.output)]});
  part.graph.edit_info() = info_;
  TRY(const te::Program program, program_for(std::move(part.graph), arguments, kMaxMemory));
  computed.float_class = std::max(computed.float_class, class_in_doubles(program));
  const auto run = is_strict() ? te::in_doubles : te::approximate;
  TRY(te::Approximate made, run(program, program.outputs[static_cast<size_t>(part.output)], arguments));
  return computed.known.emplace(leader, std::move(made)).first->second;
}

Result<ProofSteps::Taken> ProofSteps::done(const FoldStep& step) {
  TRY(const int known, value(step.value));
  Computed computed;
  TRY(const te::Approximate made, compute(known, computed));
  Taken taken{{}, computed.float_class};
  TRY_VOID(allow(taken.float_class));
  // Strictly, the constant is what a runtime rounds to.
  TRY(const te::RoundedTensor constant,
      is_strict() ? te::RoundedTensor{te::to_tensor(made.value), {}} : te::rounded(made));
  TRY_VOID(ledger_.round(known, constant));
  return taken;
}

Result<ProofSteps::Taken> ProofSteps::done(const InferStep& step) {
  TRY(Ledger::Part part, part_of(step.value));
  TRY_VOID(infer_anew(part.graph, ledger_.depth(part.inputs)));
  TRY(const Ledger::Numbers numbers, ledger_.add(part.graph, part.inputs));
  const ValueId output = part.graph.outputs()[static_cast<size_t>(part.output)];
  TRY_VOID(ledger_.merge(*value(step.value), numbers.at(output)));
  Taken taken;
  if (const auto known = known_tensor(part.graph.value(output)); known && is_float(known->dtype())) {
    // Contents are integers: they don't know -0.
    bool has_zero = false;
    for (int64_t k = 0; k < known->count(); ++k) has_zero = has_zero || known->real(k) == 0;
    const FloatClass float_class = has_zero ? FloatClass::kSignOfZero : FloatClass::kExact;
    if (!allows(granted_, float_class)) return taken;
    taken.float_class = float_class;
    TRY_VOID(ledger_.round(numbers.at(output), {*known, {}}));
  }
  return taken;
}

Result<ProofSteps::Taken> ProofSteps::done(const ExpandStep& step) {
  TRY(Ledger::Part part, part_of(step.value));
  const Node node = part.graph.node(part.node);
  if (!node.op->expand) return invalid(node.op_type, "a composite expected, a plain operator found");
  // Bodies run as they stand, whoever runs them.
  Taken taken{{}, node.op->control ? FloatClass::kExact : FloatClass::kReassociated};
  TRY_VOID(allow(taken.float_class));
  TRY_VOID(infer_node(part.graph, part.node));
  TRY_VOID(reform_node(part.graph, part.node, node.op->expand));
  TRY_VOID(infer_anew(part.graph, ledger_.depth(part.inputs)));
  const std::vector<int> whole = ledger_.siblings(*value(step.value));
  TRY(const Ledger::Numbers numbers, ledger_.add(part.graph, part.inputs));
  for (size_t k = 0; k < std::min(whole.size(), part.graph.outputs().size()); ++k)
    if (const int made = numbers.at(part.graph.outputs()[k]); made >= 0) TRY_VOID(ledger_.merge(whole[k], made));
  taken.made = listed(part.graph, numbers, part.graph.values());
  return taken;
}

Result<ProofSteps::Taken> ProofSteps::done(const SameStep& step) {
  TRY(const int first, value(step.first));
  TRY(const int second, value(step.second));
  std::vector<int> over, through;
  for (const auto& [numbers, list] : {std::pair(&step.over, &over), {&step.through, &through}})
    for (const int number : *numbers) {
      TRY(const int known, value(number));
      list->push_back(known);
    }
  Taken taken;
  TRY(taken.float_class, verify::same_elements(ledger_, first, second, over, through));
  TRY_VOID(allow(taken.float_class));
  TRY_VOID(ledger_.merge(first, second));
  return taken;
}

}  // namespace isomer::substitutions
