#include "substitutions/derivation/proof_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/hash.h"
#include "graph/node_form.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"

namespace isomer::substitutions {
namespace {

using verify::Ledger;

/// Arguments of arguments that are looked at to show that two values are equal.
constexpr int kDeepest = 4;
/// Values that a composite's are compared with.
constexpr size_t kMostBelow = 48;
/// Equal values that are tried for one.
constexpr size_t kMostMembers = 4;
/// Elements of a constant that a proof may hold, and from which on it is better another in a new shape.
constexpr int64_t kLargestConstant = 1 << 16, kShortConstant = 16;

std::string named(int number) { return fmt::format("%{}", number); }

ValueId first_output(const Node& node) {
  const auto made = std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id.valid(); });
  return made == node.outputs.end() ? ValueId() : *made;
}

std::map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::map<std::string_view, ValueId> result;
  for (const ValueId id : graph.values()) result.emplace(graph.value(id).name, id);
  return result;
}

}  // namespace

ProofRecorder::ProofRecorder(Theory& theory, FloatMode fp) : proof_(std::make_unique<ProofSteps>(theory, fp)) {}

int ProofRecorder::Seen::at(ValueId id) const {
  return id.valid() && static_cast<size_t>(id.index) < values.size() ? values[static_cast<size_t>(id.index)] : -1;
}

void ProofRecorder::Seen::set(ValueId id, int value) {
  if (values.size() <= static_cast<size_t>(id.index)) values.resize(static_cast<size_t>(id.index) + 1, -1);
  values[static_cast<size_t>(id.index)] = value;
}

std::vector<ProofRecorder::Seen>* ProofRecorder::Seen::bodies_of(NodeId id, const Node& node,
                                                                 const std::string& attribute) {
  const std::pair key(node.op_type, first_output(node));
  if (const auto known = bodies.find({id, attribute}); known != bodies.end()) {
    with_bodies[key] = id;
    return &known->second;
  }
  const auto before = with_bodies.find(key);
  if (before == with_bodies.end()) return nullptr;
  const auto known = bodies.find({before->second, attribute});
  return known == bodies.end() ? nullptr : &(bodies[{id, attribute}] = known->second);
}

ProofRecorder::Seen ProofRecorder::seen(const Graph& graph, const Ledger::Numbers& numbers) {
  Seen result{numbers.values, {}, {}};
  for (const auto& [place, inner] : numbers.bodies) {
    const Node& node = graph.node(place.first);
    const std::vector<const Graph*> bodies = isomer::bodies_of(node.attributes.find(place.second)->second);
    result.with_bodies[{node.op_type, first_output(node)}] = place.first;
    auto& list = result.bodies[place];
    for (size_t k = 0; k < bodies.size(); ++k) list.push_back(seen(*bodies[k], inner[k]));
  }
  return result;
}

Result<ProofRecorder> ProofRecorder::start(const Graph& model, FloatMode fp, Theory& theory) {
  ProofRecorder recorder(theory, fp);
  TRY(const Ledger::Numbers numbers, recorder.proof_->read_input(model));
  recorder.number(listed(model, numbers, model.values()));
  recorder.now_ = seen(model, numbers);
  return recorder;
}

void ProofRecorder::number(const std::vector<int>& made) {
  const int first = proof_->count() - static_cast<int>(made.size());
  for (size_t k = 0; k < made.size(); ++k) numbers_.try_emplace(made[k], first + static_cast<int>(k));
}

std::optional<int> ProofRecorder::number_of(int value) const {
  if (const auto known = numbers_.find(value); known != numbers_.end()) return known->second;
  for (const int member : proof_->ledger().members(value))
    if (const auto known = numbers_.find(member); known != numbers_.end()) return known->second;
  return std::nullopt;
}

bool ProofRecorder::take(ProofStep step) {
  const auto taken = proof_->take(step);
  if (!taken.ok()) return false;
  number(taken->made);
  steps_.push_back(std::move(step));
  return true;
}

bool ProofRecorder::infer(int value) {
  const auto known = numbers_.find(value);
  const Ledger& ledger = proof_->ledger();
  if (known == numbers_.end() || !ledger.producer(value).first) return false;
  // All that the step may tell: of the node's other outputs, too, and that a value is a constant that was there.
  const auto state = [&] {
    std::vector<std::tuple<int, size_t, ValueType, std::optional<Content>>> of_outputs;
    for (const int output : ledger.siblings(value))
      of_outputs.emplace_back(ledger.leader(output), ledger.members(output).size(), ledger.type(output),
                              ledger.content(output));
    return std::pair(ledger.size(), std::move(of_outputs));
  };
  const auto before = state();
  const InferStep step{known->second};
  if (const auto taken = proof_->take(step); !taken.ok() || before == state()) return false;
  steps_.push_back(step);
  return true;
}

bool ProofRecorder::same(int first, int second) {
  const auto x = number_of(first), y = number_of(second);
  if (!x || !y) return false;
  const auto tried = [&](const std::vector<int>& over, const std::vector<int>& through = {}) {
    SameStep step{*x, *y, {}, through};
    for (const int value : over)
      if (const auto number = number_of(value)) step.over.push_back(*number);
    return take(std::move(step));
  };
  const auto inputs = [&](int value) {
    std::vector<int> result;
    for (const int argument : proof_->ledger().arguments(value))
      if (argument >= 0 && !proof_->ledger().tensor(argument)) result.push_back(argument);
    return result;
  };
  // What is known as a list of numbers is not seen to repeat one of them, or those of a shorter list.
  const auto nodes_of_constants = [&] {
    std::vector<int> result;
    for (const int value : {first, second})
      for (const int each : below(value))
        if (const auto known = numbers_.find(each); known != numbers_.end() && proof_->ledger().tensor(each))
          result.push_back(known->second);
    return result;
  };
  if (carrying_) {
    const std::vector<int> source = {carrying_->source};
    if (tried(source) || tried(source, carrying_->moving)) return true;
    std::vector<int> through = nodes_of_constants();
    through.insert(through.end(), carrying_->moving.begin(), carrying_->moving.end());
    return through.size() > carrying_->moving.size() && tried(source, through);
  }
  if (tried({second}) || tried({first}) || tried(inputs(second)) || tried(inputs(first)) || tried({})) return true;
  const std::vector<int> through = nodes_of_constants();
  return !through.empty() && tried({}, through);
}

bool ProofRecorder::expand(int value) {
  const auto known = numbers_.find(value);
  const OpDef* op = proof_->ledger().producer(value).first;
  const int first = proof_->count();
  if (known == numbers_.end() || !op || !op->expand || !expanded_.insert(value).second ||
      !take(ExpandStep{known->second}))
    return false;
  expand_own(first);
  return true;
}

/// Of the values from this number on: no file holds our own operators, and branches within a branch are taken with it.
void ProofRecorder::expand_own(int first) {
  for (int number = first; number < proof_->count(); ++number) {
    const auto value = proof_->value(number);
    const OpDef* op = value.ok() ? proof_->ledger().producer(*value).first : nullptr;
    if (op && (op->domain == kOwnDomain || std::holds_alternative<BranchForm>(op->form))) expand(*value);
  }
}

bool ProofRecorder::settle(int value) {
  std::set<int> seen;
  return settle(value, seen);
}

/// Makes a value that is known, or computed of constants, a constant.
bool ProofRecorder::settle(int value, std::set<int>& seen) {
  const Ledger& ledger = proof_->ledger();
  if (ledger.rounded(value)) return true;
  if (!seen.insert(ledger.leader(value)).second) return false;
  for (const int member : std::vector<int>(ledger.members(value))) {
    if (!ledger.producer(member).first || !numbers_.contains(member)) continue;
    if (infer(member) && ledger.rounded(value)) return true;
    const std::vector<int> arguments = ledger.arguments(member);
    bool all = true;
    for (const int argument : arguments) all = all && (argument < 0 || settle(argument, seen));
    if (infer(member) && ledger.rounded(value)) return true;
    if (all && take(FoldStep{numbers_.at(member)})) return true;
  }
  return false;
}

/// What the value is computed of, the nearest first.
std::vector<int> ProofRecorder::below(int value) const {
  std::vector<int> found = {value};
  for (size_t k = 0; k < found.size() && found.size() < kMostBelow; ++k)
    for (const int argument : proof_->ledger().arguments(found[k]))
      if (argument >= 0 && proof_->ledger().producer(argument).first &&
          std::ranges::find(found, argument) == found.end())
        found.push_back(argument);
  return found;
}

/// The value, or what nodes that leave it as it is may have passed on as it, where `op` makes that: its node gives the
/// value itself once they are gone.
int ProofRecorder::passed_on(int value, const OpDef* op) const {
  constexpr int kMostPassed = 8;
  const Ledger& ledger = proof_->ledger();
  for (int k = 0; k < kMostPassed && value >= 0; ++k) {
    if (ledger.producer(value).first == op) return value;
    const std::vector<int> arguments = ledger.arguments(value);
    const auto source = std::ranges::find_if(
        arguments, [&](int argument) { return argument >= 0 && ledger.type(argument) == ledger.type(value); });
    value = source == arguments.end() ? -1 : *source;
  }
  return -1;
}

/// Values that are equal to one of two, with those that are equal to the other, the latest first.
std::vector<std::pair<int, int>> ProofRecorder::members_of(int first, int second) const {
  const auto made = [&](int value) {
    std::vector<int> result = proof_->ledger().members(value);
    std::erase_if(result, [&](int each) { return each != value && !proof_->ledger().producer(each).first; });
    std::sort(result.rbegin(), result.rend());
    result.resize(std::min(result.size(), kMostMembers));
    return result;
  };
  std::vector<std::pair<int, int>> result;
  for (const int a : made(first))
    for (const int b : made(second))
      if (a != first || b != second) result.emplace_back(a, b);
  return result;
}

/// What a branch that was taken passes on is what it was given: elements are not read through the node of the branches.
/// Whether there was one.
bool ProofRecorder::look_through_branches(int value) {
  const Ledger& ledger = proof_->ledger();
  bool is_new = false;
  for (const int each : below(value)) {
    const OpDef* op = ledger.producer(each).first;
    if (!op || !op->control) continue;
    for (const int member : std::vector<int>(ledger.members(each)))
      for (const int argument : ledger.arguments(member))
        if (argument >= 0 && !ledger.equal(argument, each) && ledger.type(argument) == ledger.type(each))
          is_new = same(member, argument) || is_new;
  }
  return is_new;
}

bool ProofRecorder::prove(int first, int second, int depth) {
  const Ledger& ledger = proof_->ledger();
  if (first < 0 || second < 0) return first == second;
  if (ledger.equal(first, second)) return true;
  if (depth > kDeepest || !not_equal_.insert({ledger.leader(first), ledger.leader(second)}).second) return false;
  for (const auto& [constant, other] : {std::pair(second, first), std::pair(first, second)}) {
    if (!ledger.rounded(constant) || !settle(other)) continue;
    // What is rounded to the same bits may be the same number for another reason.
    if (ledger.equal(first, second)) return true;
    if (ledger.tensor(first) && ledger.tensor(second)) return false;
  }
  if (same(first, second) || (look_through_branches(first) && same(first, second))) return true;
  const auto by_arguments = [&](int a, int b) {
    const auto p = ledger.producer(a), q = ledger.producer(b);
    if (!p.first || p != q) return false;
    const std::vector<int> x = ledger.arguments(a), y = ledger.arguments(b);
    for (size_t k = 0; k < std::min(x.size(), y.size()); ++k)
      if (x[k] >= 0 && y[k] >= 0) prove(x[k], y[k], depth + 1);
    return ledger.equal(a, b);
  };
  if (by_arguments(first, second)) return true;
  // What steps made of them is as good.
  for (const auto& [a, b] : members_of(first, second))
    if (same(a, b) || by_arguments(a, b)) return true;
  for (const auto& [composite, other] : {std::pair(first, second), std::pair(second, first)}) {
    const int before = proof_->count();
    if (!expand(composite)) continue;
    // What stands inside of it comes first: its sums are equal to others where they are of equal values.
    const std::vector<int> inside = below(other);
    for (int number = before; number < proof_->count() && !ledger.equal(composite, other); ++number)
      if (const auto made = proof_->value(number); made.ok())
        for (const int member : inside)
          if (!ledger.equal(member, *made) && by_arguments(member, *made)) break;
    if (ledger.equal(composite, other)) return true;
    for (const int member : std::vector<int>(ledger.members(composite)))
      if (member != composite && (by_arguments(member, other) || same(member, other)))
        if (ledger.equal(composite, other)) return true;
  }
  return false;
}

Result<int> ProofRecorder::make_constant(const Tensor& tensor) {
  if (const auto known = proof_->ledger().find_constant(tensor)) return *known;
  if (const auto made = reshaped_constant(tensor)) return *made;
  const auto wrong = [&] {
    return Error{ErrorKind::kMismatch, what_,
                 fmt::format("a constant made of the model's expected, another of {} elements found", tensor.count())};
  };
  if (tensor.count() > kLargestConstant) return wrong();
  Graph graph;
  const ValueId made = graph.add_constant(tensor, named(proof_->count()));
  graph.set_outputs({made});
  if (!take(MakeStep{print_graph(graph, {.inline_elements = kLargestConstant})})) return wrong();
  return *proof_->ledger().find_constant(tensor);
}

/// Of one that has the same elements in another shape, or this element everywhere.
std::optional<int> ProofRecorder::reshaped_constant(const Tensor& tensor) {
  const auto list = constants_.find(tensor.reshaped({tensor.count()}).content_hash());
  const auto number = list == constants_.end() ? std::nullopt : number_of(list->second);
  if (!number) return std::nullopt;
  Graph graph;
  Value same;
  same.name = named(*number);
  same.type = proof_->ledger().type(list->second);
  const size_t rank = same.type.shape->size();
  const bool is_one_of_many = proof_->ledger().rounded(list->second)->tensor.count() != tensor.count();
  const ValueId source = graph.add_value(std::move(same));
  graph.set_inputs({source});
  Result<ValueId> made = source;
  if (is_one_of_many)
    made = emit(graph, "Slice",
                {source, emit_ints(graph, std::vector<int64_t>(rank, 0), "starts"),
                 emit_ints(graph, std::vector<int64_t>(rank, 1), "ends")},
                {}, "element");
  if (made.ok()) made = emit(graph, "Reshape", {*made, emit_ints(graph, tensor.dims(), "dims")}, {}, "reshaped");
  if (!made.ok()) return std::nullopt;
  graph.set_outputs({*made});
  if (!take(MakeStep{print_graph(graph)}) || !take(FoldStep{proof_->count() - 1})) return std::nullopt;
  return proof_->ledger().find_constant(tensor);
}

bool ProofRecorder::knows_more(const ValueType& type, const std::optional<Content>& content, int value) const {
  const ValueType& known = proof_->ledger().type(value);
  if (type.has_shape() && !known.has_shape()) return true;
  if (type.has_shape())
    for (size_t k = 0; k < type.shape->size(); ++k)
      if (!(*known.shape)[k].is_constant() && !((*type.shape)[k] == (*known.shape)[k])) return true;
  if (!content) return false;
  const auto elements = proof_->ledger().content(value);
  if (!elements) return true;
  for (size_t k = 0; k < std::min(content->size(), elements->size()); ++k)
    if ((*content)[k] && (!(*elements)[k] || ((*content)[k]->is_constant() && !(*elements)[k]->is_constant())))
      return true;
  return false;
}

Error ProofRecorder::unproved(const Graph& graph, ValueId id) const {
  const Value& value = graph.value(id);
  return {ErrorKind::kMismatch, what_,
          fmt::format("a change that has a proof expected, none found for what stands at '{}' now ({})", value.name,
                      value.producer.valid() ? label(graph, value.producer) : std::string("a constant"))};
}

Result<void> ProofRecorder::meet_constants(const Graph& graph, Seen& now) {
  for (const ValueId id : graph.values()) {
    if (!graph.is_constant(id)) continue;
    const Tensor& tensor = *graph.value(id).constant;
    const int before = now.at(id);
    if (before >= 0) {
      const te::RoundedTensor* known = proof_->ledger().rounded(before);
      if (known && known->tensor.same_contents(tensor)) {
        if ((tensor.count() > kShortConstant || !known->distance.is_zero()) && seen_constants_.insert(before).second) {
          constants_.try_emplace(tensor.reshaped({tensor.count()}).content_hash(), before);
          if (!known->distance.is_zero() && is_splat(tensor))
            constants_.try_emplace(first_element(tensor).reshaped({1}).content_hash(), before);
        }
        continue;
      }
      settle(before);
      // Zeros of either sign may be made of it, or numbers rounded in other ways.
      for (const int member : std::vector<int>(proof_->ledger().members(before)))
        if (!proof_->ledger().find_constant(tensor) && numbers_.contains(member)) take(FoldStep{numbers_.at(member)});
      if (proof_->ledger().is_rounded_to(before, tensor)) continue;
    }
    // Another number may have been rounded to the same bits: sqrt(0.1) * sqrt(0.1) is 0.1 only once it is.
    const auto folded = before < 0 ? folded_.find(tensor.content_hash()) : folded_.end();
    int made = folded == folded_.end() ? -1 : folded->second;
    if (made < 0) {
      TRY(made, make_constant(tensor));
    }
    if (before >= 0 && !prove(before, made)) return unproved(graph, id);
    now.set(id, made);
  }
  return {};
}

Result<std::vector<int>> ProofRecorder::make(const Graph& graph, NodeId id, Seen& now) {
  Graph part;
  Node node = graph.node(id);
  std::map<int, ValueId> known;
  std::vector<ValueId> inputs;
  std::vector<int> values;
  for (auto* list : {&node.inputs, &node.captures})
    for (ValueId& input : *list) {
      if (!input.valid()) continue;
      const auto number = number_of(now.at(input));
      if (!number) return unproved(graph, input);
      const auto [place, is_new] = known.try_emplace(*number);
      if (is_new) {
        Value formal;
        formal.name = named(*number);
        formal.type = graph.value(input).type;
        inputs.push_back(place->second = part.add_value(std::move(formal)));
        values.push_back(now.at(input));
      }
      input = place->second;
    }
  part.set_inputs(std::move(inputs));
  std::vector<ValueId> outputs;
  int next = proof_->count();
  for (ValueId& output : node.outputs) {
    if (!output.valid()) continue;
    Value made;
    made.name = named(next++);
    made.type = graph.value(output).type;
    outputs.push_back(output = part.add_value(std::move(made)));
  }
  part.set_outputs(outputs);
  part.add_node(std::move(node));
  std::vector<int> result;
  if (!take(MakeStep{print_graph(part, {.inline_elements = kLargestConstant})}))
    return unproved(graph, graph.node(id).outputs[0]);
  next -= static_cast<int>(outputs.size());
  for (const ValueId output : graph.node(id).outputs) {
    if (!output.valid()) {
      result.push_back(-1);
      continue;
    }
    TRY(const int value, proof_->value(next++));
    result.push_back(value);
  }
  if (graph.node(id).op->control) {
    // Its bodies are known now.
    TRY(const Ledger::Numbers numbers, proof_->place(part, values));
    Seen made = seen(part, numbers);
    for (auto& [place, bodies] : made.bodies) now.bodies[{id, place.second}] = std::move(bodies);
    now.with_bodies[{graph.node(id).op_type, first_output(graph.node(id))}] = id;
  }
  return result;
}

Result<void> ProofRecorder::meet_node(const Graph& graph, NodeId id, Seen& now) {
  const Node& node = graph.node(id);
  const Ledger& ledger = proof_->ledger();
  std::vector<int> arguments;
  for (size_t k = 0; k < count_given(node.inputs); ++k) arguments.push_back(now.at(node.inputs[k]));
  bool is_known = true;
  for (const auto& [name, attribute] : node.attributes) {
    const std::vector<const Graph*> bodies = isomer::bodies_of(attribute);
    if (bodies.empty()) continue;
    auto* known = now.bodies_of(id, node, name);
    is_known = known && known->size() == bodies.size();
    if (!is_known) break;
    auto& inner = *known;
    for (size_t k = 0; k < bodies.size(); ++k) {
      for (size_t c = 0; c < node.captures.size(); ++c)
        inner[k].set(bodies[k]->captures()[c], now.at(node.captures[c]));
      TRY_VOID(walk(*bodies[k], inner[k]));
      for (const ValueId output : bodies[k]->outputs()) arguments.push_back(inner[k].at(output));
    }
  }
  auto outputs = is_known ? ledger.find(node, arguments) : std::nullopt;
  const auto old = [&](size_t k) { return now.at(node.outputs[k]); };
  if (!outputs) {
    // Who reads something else now reads what is equal to what he read.
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const int passed = node.outputs[k].valid() && old(k) >= 0 ? passed_on(old(k), node.op) : -1;
      if (passed < 0) continue;
      const std::vector<int> before = ledger.arguments(passed);
      for (size_t j = 0; j < std::min(before.size(), arguments.size()); ++j)
        if (before[j] >= 0 && arguments[j] >= 0 && ledger.type(before[j]) == ledger.type(arguments[j]))
          prove(before[j], arguments[j]);
      break;
    }
    if (is_known) outputs = ledger.find(node, arguments);
  }
  if (!outputs) {
    if (node.is_opaque()) {
      // It stands for itself as long as what it reads is equal.
      return {};
    }
    TRY(outputs, make(graph, id, now));
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    const int made = (*outputs)[k];
    const Value& value = graph.value(node.outputs[k]);
    if (knows_more(value.type, value.content, made)) infer(made);
    if (old(k) >= 0 && !prove(old(k), made)) return unproved(graph, node.outputs[k]);
    now.set(node.outputs[k], made);
  }
  return {};
}

Result<void> ProofRecorder::walk(const Graph& graph, Seen& now) {
  TRY_VOID(meet_constants(graph, now));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) TRY_VOID(meet_node(graph, id, now));
  return {};
}

Result<void> ProofRecorder::changed(std::string_view what, const Graph& graph) {
  what_ = what;
  not_equal_.clear();
  auto done = walk(graph, now_);
  folded_.clear();
  return done;
}

Result<int> ProofRecorder::value_in(const Program& program, int value, const Seen& now) {
  if (const auto known = of_program_.find(value); known != of_program_.end()) return known->second;
  const Program::Value& there = program.value(value);
  Ledger& ledger = proof_->ledger();
  int found = -1;
  if (there.producer < 0) {
    const Leaf& leaf = program.origin().leaves[static_cast<size_t>(there.index)];
    if (leaf.value.valid()) {
      found = now.at(leaf.value);
    } else {
      TRY(found,
          make_constant(Tensor::scalar(program.theory().signatures().type(leaf.type).dtype, leaf.number->to_double())));
    }
  } else {
    const Program::Application& made = program.application(there.producer);
    if (made.node.valid()) {
      int index = there.index;
      for (const ValueId output : program.origin().graph.node(made.node).outputs)
        if (output.valid() && index-- == 0) found = now.at(output);
    } else {
      std::vector<int> arguments;
      for (const int argument : program.arguments(there.producer)) {
        TRY(const int known, value_in(program, argument, now));
        arguments.push_back(known);
      }
      const auto& [op, parameters] = program.theory().signatures().operation(made.operation);
      TRY(const std::vector<int> outputs,
          ledger.apply(proof_->laws().signatures().operation_id(*op, parameters), arguments));
      found = outputs[static_cast<size_t>(there.index)];
    }
  }
  if (found < 0)
    return Error{ErrorKind::kMismatch, what_, fmt::format("a value of the model expected, %{} found", value)};
  return of_program_[value] = found;
}

namespace {

std::map<std::string_view, const Rule*> by_name(std::span<const Rule> rules) {
  std::map<std::string_view, const Rule*> result;
  for (const Rule& rule : rules) result.emplace(rule.name, &rule);
  return result;
}

}  // namespace

Result<void> ProofRecorder::take(Program& program, std::span<const Step> steps, std::span<const Rule> rules) {
  of_program_.clear();
  proof_->add_rules(rules);
  const auto known = by_name(rules);
  for (const Step& step : steps) TRY_VOID(take(program, step, *known.at(step.rule), now_));
  return {};
}

Result<const ProofRecorder::Seen*> ProofRecorder::seen_at(const BodyPlace& place) const {
  const Seen* result = &now_;
  for (const auto& [node, body] : place) {
    std::vector<const Seen*> bodies;
    for (const auto& [of, list] : result->bodies)
      if (of.first == node)
        for (const Seen& each : list) bodies.push_back(&each);
    if (body >= static_cast<int>(bodies.size()))
      return Error{ErrorKind::kMismatch, "normalization", "a body that was seen expected"};
    result = bodies[static_cast<size_t>(body)];
  }
  return result;
}

Result<void> ProofRecorder::take(Program program, const Normalized& made, std::span<const Rule> rules,
                                 const BodyPlace& place) {
  of_program_.clear();
  proof_->add_rules(rules);
  const auto known = by_name(rules);
  TRY(const Seen* now, seen_at(place));
  for (const NormalizeStep& taken : made.steps) {
    if (const auto* step = std::get_if<Step>(&taken))
      TRY_VOID(take(program, *step, *known.at(step->rule), *now));
    else
      TRY_VOID(take(program, std::get<CarriedFactor>(taken)));
  }
  for (const auto& [value, tensor] : made.constants) {
    TRY(const int constant, value_in(program, value, *now));
    const auto number = number_of(constant);
    if (!number || !take(FoldStep{*number}))
      return Error{ErrorKind::kMismatch, what_, "a constant that can be computed again expected"};
    folded_[tensor.content_hash()] = constant;
  }
  return {};
}

Result<void> ProofRecorder::take(Program& program, const Step& step, const Rule& rule, const Seen& now) {
  what_ = rule.name;
  RuleStep used{step.rule, {}, step.names};
  for (const auto& [name, value] : step.tensors) {
    TRY(const int known, value_in(program, value, now));
    const auto number = number_of(known);
    if (!number) return Error{ErrorKind::kMismatch, what_, "values of the proof expected"};
    used.tensors.emplace_back(name, *number);
  }
  auto taken = proof_->take(used);
  if (!taken.ok()) return std::move(taken).error().within(what_);
  number(taken->made);
  steps_.push_back(std::move(used));
  used_.emplace(rule.name, rule);
  return take_step(program, step, rule);
}

/// The number of one that is equal to the value and made of the argument.
std::optional<int> ProofRecorder::made_from(int value, int argument) const {
  const Ledger& ledger = proof_->ledger();
  for (const int member : ledger.members(value)) {
    const auto known = numbers_.find(member);
    if (known == numbers_.end()) continue;
    for (const int of : ledger.arguments(member))
      if (of >= 0 && ledger.equal(of, argument)) return known->second;
  }
  return std::nullopt;
}

/// Of the graph as it is then; what stood there before is what the model goes on with.
Result<void> ProofRecorder::take(Program& program, const CarriedFactor& step) {
  Carrying carrying;
  TRY(carrying.source, value_in(program, step.source, now_));
  for (const int moving : step.moving) {
    const Program::Application& there = program.application(moving);
    const auto from = std::find_if(program.arguments(moving).begin(), program.arguments(moving).end(),
                                   [&](int argument) { return !program.value(argument).is_constant; });
    TRY(const int moved, value_in(program, *from, now_));
    for (int k = 0; k < there.value_count; ++k) {
      TRY(const int value, value_in(program, there.first_value + k, now_));
      if (const auto known = made_from(value, moved)) carrying.moving.push_back(*known);
    }
  }
  TRY(Rewritten rewritten, take_step(program, step));
  program = std::move(rewritten.program);
  TRY(const Graph graph, graph_of(program));
  const Seen before = now_;
  carrying_ = std::move(carrying);
  auto done = changed("factor-over-movement", graph);
  carrying_.reset();
  now_ = before;
  return done;
}

/// Constants of the file that are known by what was rounded to them: by their names, else by their bits.
OutputStep ProofRecorder::output_step(const Graph& last, const Graph& written) const {
  const Ledger& ledger = proof_->ledger();
  const auto named = values_by_name(last);
  OutputStep step;
  int number = proof_->count() - 1;
  for (const ValueId id : written.values()) {
    ++number;
    if (!written.is_constant(id)) continue;
    const Tensor& tensor = *written.value(id).constant;
    const auto same = named.find(written.value(id).name);
    int value = same == named.end() ? -1 : now_.at(same->second);
    if (value < 0 || !ledger.is_rounded_to(value, tensor)) value = ledger.find_constant(tensor).value_or(-1);
    if (value < 0 || ledger.tensor(value)) continue;
    if (const auto known = number_of(value)) {
      step.constants.push_back(number);
      step.values.push_back(*known);
    }
  }
  return step;
}

Result<void> ProofRecorder::finish(const Graph& last, const Graph& written) {
  what_ = "writing the model";
  not_equal_.clear();
  expand_own(0);
  const OutputStep step = output_step(last, written);
  TRY(const Ledger::Numbers numbers, proof_->read_output(written, step));
  steps_.push_back(step);
  number(listed(written, numbers, written.values()));
  for (size_t k = 0; k < written.outputs().size(); ++k)
    if (!prove(now_.at(last.outputs()[k]), numbers.at(written.outputs()[k])))
      return unproved(written, first_unlike(last, written, numbers).value_or(written.outputs()[k]));
  return {};
}

/// The first value of the written model that is not the one of its name.
std::optional<ValueId> ProofRecorder::first_unlike(const Graph& last, const Graph& written,
                                                   const Ledger::Numbers& numbers) const {
  const auto named = values_by_name(last);
  const auto order = topological_order(written);
  if (!order.ok()) return std::nullopt;
  for (const NodeId node : *order)
    for (const ValueId id : written.node(node).outputs) {
      if (!id.valid()) continue;
      const auto same = named.find(written.value(id).name);
      const int value = same == named.end() ? -1 : now_.at(same->second);
      if (value >= 0 && !proof_->ledger().equal(value, numbers.at(id))) return id;
    }
  return std::nullopt;
}

std::vector<Rule> ProofRecorder::rules() const {
  std::vector<Rule> result;
  for (const auto& [name, rule] : used_) result.push_back(rule);
  return result;
}

Result<ModelProof> proof_of(const Graph& model, const Derivation& derivation, const Graph& written, Theory& theory,
                            const DeriveOptions& options) {
  TRY(ProofRecorder recorder, ProofRecorder::start(model, derivation.fp, theory));
  // A pass that fails is left out, and what comes behind it is another graph: this is what must be told.
  Result<void> normalized;
  const auto recorded = [&](PassOptions passes) {
    passes.on_change = [&](std::string_view pass, const Graph& graph) -> Result<void> {
      TRY_VOID(normalized);
      return recorder.changed(pass, graph);
    };
    if (passes.normalize)
      passes.normalize = normalization(theory, [&](const BodyPlace& place, const Program& before,
                                                   const Normalized& made, const Normalizer& normalizer) {
        auto taken = recorder.take(before, made, normalizer.rules(), place);
        if (normalized.ok() && !taken.ok()) normalized = taken.error();
        return taken;
      });
    return passes;
  };
  Graph graph = model;
  TRY_VOID(optimize(graph, recorded(passes_before(derivation, theory, options))));
  if (!derivation.steps.empty()) {
    const Graph before = graph;
    TRY_VOID(canonicalize(graph, recorded(passes_before(derivation, theory, options))));
    TRY_VOID(recorder.changed("inference", graph));
    TRY(Program program, program_of(graph, theory, dequantized(derivation)));
    TRY_VOID(recorder.take(program, derivation.steps, derivation.rules));
    TRY(graph, graph_of(program));
    TRY_VOID(recorder.changed("steps", graph));
    TRY_VOID(optimize(graph, recorded(passes_after(derivation, before, graph, theory, options))));
  }
  TRY_VOID(normalized);
  TRY_VOID(recorder.changed("inference", graph));
  TRY_VOID(recorder.finish(graph, written));
  ModelProof proof;
  proof.dims = derivation.dims;
  proof.shapes = derivation.shapes;
  proof.fp = derivation.fp;
  proof.input = structural_hash(model);
  proof.output = structural_hash(written);
  proof.rules = recorder.rules();
  proof.steps = recorder.steps();
  return proof;
}

}  // namespace isomer::substitutions
