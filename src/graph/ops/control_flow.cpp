// If Loop Scan: operators over bodies, run by whoever runs the graph.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/registry.h"
#include "graph/te/array_parts.h"
#include "graph/te/symbols.h"

namespace isomer::ops {
namespace {

using te::Array;

/// More iterations than a model means; a body that never ends is stopped here.
constexpr int64_t kMaxIterations = int64_t{1} << 20;
/// Bodies nested deeper than this are inferred once a level: each level that is inferred twice doubles the work below.
constexpr int kMaxRefinedHeight = 4;

// Types

ValueType of_unknown_rank(DataType dtype) { return {ValueType::Kind::kTensor, dtype, std::nullopt, {}}; }

bool mentions(const Dim& dim, const std::set<std::string>& symbols) {
  return te::any_node(dim.expr(), [&](const te::Expr& e) {
    const te::Symbol* symbol = te::as<te::Symbol>(e);
    return symbol && symbols.contains(symbol->name);
  });
}

/// Symbols of a body that mean nothing outside: sizes that its own nodes' data decide, those to which the file gives no
/// name (graph/onnx/types.h), and those in `more`.
std::set<std::string> local_symbols(const Graph& body, std::set<std::string> more = {}) {
  for (const NodeId id : body.nodes())
    for (const ValueId output : body.node(id).outputs) {
      if (!output.valid()) continue;
      const Value& value = body.value(output);
      const size_t rank = value.type.has_shape() ? value.type.shape->size() : 8;
      for (size_t k = 0; k < std::max<size_t>(rank, 8); ++k) {
        more.insert(size_by_data(value.name, static_cast<int64_t>(k)));
        more.insert(fmt::format("{}.{}.?", value.name, k));
      }
    }
  return more;
}

/// The type as the outside sees it: local symbols become dims of output `output` that only data decide.
ValueType exported(const OpContext& context, int output, ValueType type, const std::set<std::string>& local) {
  if (type.has_shape())
    for (size_t k = 0; k < type.shape->size(); ++k)
      if (Dim& dim = (*type.shape)[k]; !dim.is_constant() && mentions(dim, local))
        dim = context.fresh(output, static_cast<int>(k));
  return type;
}

/// What is known of a value that has either type.
Result<ValueType> common_type(const OpContext& context, int output, const ValueType& a, const ValueType& b) {
  if (a == b) return a;
  if (!a.is_tensor() || !b.is_tensor()) return ValueType();
  if (a.dtype != b.dtype)
    return context.invalid("output {} of one type expected, {} and {} found", output, name(a.dtype), name(b.dtype));
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return of_unknown_rank(a.dtype);
  ValueType type = a;
  for (size_t k = 0; k < a.shape->size(); ++k)
    if ((*a.shape)[k] != (*b.shape)[k]) (*type.shape)[k] = context.fresh(output, static_cast<int>(k));
  return type;
}

/// `element` with an axis of `extent` put in.
ValueType stacked_type(ValueType element, int64_t axis, const Dim& extent) {
  if (element.has_shape()) element.shape->insert(element.shape->begin() + axis, extent);
  return element;
}

Result<void> expect_body(const OpContext& context, const Graph& body, size_t inputs, size_t least_outputs) {
  if (body.inputs().size() != inputs)
    return context.invalid("a body with {} inputs expected, {} found", inputs, body.inputs().size());
  if (body.outputs().size() < least_outputs)
    return context.invalid("a body with at least {} outputs expected, {} found", least_outputs, body.outputs().size());
  return {};
}

// Arrays

/// What an iteration made, to be stacked in the end.
Result<void> collect(const OpContext& context, std::span<Array> made, std::vector<std::vector<Array>>& collected) {
  for (size_t k = 0; k < collected.size(); ++k) {
    if (!made[k].is_tensor()) return context.invalid("tensors expected of what is stacked, something else found");
    collected[k].push_back(std::move(made[k]));
  }
  return {};
}

/// The pieces one after the other along a new axis; `element` is the type of each, for when there are none.
Result<Array> stacked(const OpContext& context, std::vector<Array> pieces, int64_t axis, bool backward,
                      const ValueType& element) {
  Dims inside;
  DataType dtype = element.dtype;
  if (!pieces.empty()) {
    inside = pieces[0].dims();
    dtype = pieces[0].dtype();
  } else if (!is_computable(dtype)) {
    return context.unsupported("an output of known type expected where no iteration runs");
  } else if (element.has_shape()) {
    for (const Dim& dim : *element.shape) inside.push_back(dim.constant().value_or(0));
  }
  if (axis < 0) axis += static_cast<int64_t>(inside.size()) + 1;
  if (axis < 0 || axis > static_cast<int64_t>(inside.size()))
    return context.invalid("an output axis within rank {} expected, {} found", inside.size() + 1, axis);
  if (pieces.empty()) {
    inside.insert(inside.begin() + axis, 0);
    return Array::allocate(dtype, std::move(inside));
  }
  for (Array& piece : pieces) {
    if (piece.dims() != inside || piece.dtype() != dtype)
      return context.invalid("outputs of one shape and type in every iteration expected, {}[{}] and {}[{}] found",
                             name(dtype), fmt::join(inside, ","), name(piece.dtype()), fmt::join(piece.dims(), ","));
    piece = te::with_axis(piece, axis);
  }
  if (backward) std::reverse(pieces.begin(), pieces.end());
  return te::concatenate(pieces, axis);
}

/// The types of what iterations would have made, where none ran.
std::vector<ValueType> types_of_none(const OpContext& context, const Graph& body,
                                     const std::vector<ValueType>& inputs) {
  if (auto inferred = context.infer_body(body, inputs); inferred.ok()) return *std::move(inferred);
  std::vector<ValueType> declared;
  for (const ValueId output : body.outputs()) declared.push_back(body.value(output).type);
  return declared;
}

Result<int64_t> scalar_of(const OpContext& context, const Array& array, std::string_view what) {
  if (array.empty() || !array.is_tensor() || array.count() != 1)
    return context.invalid("{} of one element expected", what);
  return array.integer(0);
}

/// A scalar for a formal input of a body, of rank 1 where that is declared so.
Array scalar_for(const Graph& body, int input, DataType dtype, int64_t value) {
  const ValueType& type = body.value(body.inputs()[input]).type;
  return Array::integers(dtype, type.has_shape() && type.shape->size() == 1 ? Dims{1} : Dims{}, {&value, 1});
}

ValueType scalar_type_for(const Graph& body, int input, DataType dtype) {
  const ValueType& type = body.value(body.inputs()[input]).type;
  return ValueType::tensor(dtype, type.has_shape() && type.shape->size() == 1 ? Shape{1} : Shape{});
}

// If

Result<std::vector<ValueType>> branch_types(const OpContext& context, const char* attribute) {
  const Graph& body = context.get_graph(attribute);
  TRY_VOID(expect_body(context, body, 0, context.output_count()));
  TRY(std::vector<ValueType> types, context.infer_body(body, {}));
  const std::set<std::string> local = local_symbols(body);
  for (int i = 0; i < context.output_count(); ++i) types[i] = exported(context, i, types[i], local);
  return types;
}

Result<std::vector<ValueType>> if_infer(const OpContext& context) {
  TRY_VOID(expect_scalar(context, 0));
  const size_t then_count = context.get_graph("then_branch").outputs().size(),
               else_count = context.get_graph("else_branch").outputs().size();
  if (then_count != else_count)
    return context.invalid("branches with equally many outputs expected, {} and {} found", then_count, else_count);
  if (const auto taken = context.scalar_int(0)) return branch_types(context, *taken ? "then_branch" : "else_branch");
  for (const char* branch : {"then_branch", "else_branch"})
    TRY_VOID(expect_body(context, context.get_graph(branch), 0, context.output_count()));
  auto first = branch_types(context, "then_branch");
  const auto second = branch_types(context, "else_branch");
  // A branch may be for other inputs than these: what is wrong with it is the error of whoever takes it, and where the
  // model runs the other one was taken.
  const auto never_runs = [](const auto& branch) { return !branch.ok() && branch.error().kind == ErrorKind::kInvalid; };
  if (never_runs(first) && second.ok()) return second;
  if (never_runs(second) && first.ok()) return first;
  TRY(std::vector<ValueType> types, std::move(first));
  TRY(const std::vector<ValueType> others, second);
  for (int i = 0; i < context.output_count(); ++i) {
    TRY(types[i], common_type(context, i, types[i], others[i]));
  }
  return types;
}

Result<std::vector<Array>> if_run(const OpContext& context, std::span<const Array> inputs, BodyRunner& runner) {
  TRY(const int64_t taken, scalar_of(context, inputs[0], "cond"));
  return runner.run(context.get_graph(taken ? "then_branch" : "else_branch"), {});
}

/// The nodes of the branch that is taken, where the condition is known.
Result<void> taken_branch(NodeForm& form) {
  const auto taken = form.ints(0);
  if (!taken || taken->size() != 1) return form.unsupported("a known condition expected");
  const Graph& body = *std::get<GraphPtr>(form.node().attributes.at(taken->front() ? "then_branch" : "else_branch"));
  const std::vector<ValueId> outputs = form.node().outputs;
  std::map<ValueId, ValueId> outside;
  for (size_t k = 0; k < body.captures().size(); ++k) outside.emplace(body.captures()[k], form.node().captures[k]);
  // What nodes of the branch make for one output is the output itself; all else gets a name of its own.
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].valid() && body.value(body.outputs()[k]).producer.valid())
      outside.emplace(body.outputs()[k], outputs[k]);
  const auto placed = [&](ValueId inner) {
    if (!inner.valid()) return inner;
    const auto [known, is_new] = outside.try_emplace(inner);
    if (!is_new) return known->second;
    const Value& value = body.value(inner);
    const std::string name = form.graph().fresh_name(value.name);
    if (value.constant) return known->second = form.graph().add_constant(*value.constant, name);
    Value made;
    made.name = name;
    // Sizes that a body gives a name mean nothing outside.
    if (value.type.is_tensor()) made.type = of_unknown_rank(value.type.dtype);
    return known->second = form.graph().add_value(std::move(made));
  };
  TRY(const std::vector<NodeId> order, topological_order(body));
  for (const NodeId id : order) {
    Node node = body.node(id);
    for (auto* list : {&node.inputs, &node.captures, &node.outputs})
      for (ValueId& value : *list) value = placed(value);
    if (!node.name.empty() && !form.node().name.empty())
      node.name = form.node().name + (node.name.starts_with('/') ? "" : "/") + node.name;
    TRY_VOID(form.emit(std::move(node)));
  }
  form.replace();
  for (size_t k = 0; k < outputs.size(); ++k)
    if (const ValueId made = placed(body.outputs()[k]); outputs[k].valid() && made != outputs[k])
      TRY_VOID(form.emit_as(static_cast<int>(k), "Identity", {made}));
  return {};
}

// Loop

/// Levels of bodies inside, this one included.
int height(const Graph& body) {
  int deepest = 0;
  for (const NodeId id : body.nodes())
    for (const auto& [name, attribute] : body.node(id).attributes)
      if (const auto* graph = std::get_if<GraphPtr>(&attribute)) deepest = std::max(deepest, height(**graph));
  return deepest + 1;
}

/// Whether the body's condition is true whenever the condition that it was given is.
bool goes_on(const Graph& body) {
  ValueId condition = body.outputs()[0];
  while (condition != body.inputs()[1]) {
    if (body.is_constant(condition)) {
      const Tensor& constant = *body.value(condition).constant;
      return constant.dtype() == DataType::kBool && constant.count() == 1 && constant.integer(0) != 0;
    }
    const NodeId producer = body.value(condition).producer;
    if (!producer.valid()) return false;
    const Node& node = body.node(producer);
    const bool passes = node.op && (node.op->name == "Identity" || node.op->name == "Cast");
    if (!passes) return false;
    condition = node.inputs[0];
  }
  return true;
}

int loop_states(const OpContext& context) { return std::max(0, context.input_count() - 2); }

/// How often the body runs, as far as that is known before it does.
std::optional<Dim> trip_count(const OpContext& context, const Graph& body) {
  if (context.has_input(1)) {
    const auto enters = context.scalar_int(1);
    if (enters == 0) return Dim(0);
    if (!enters || !goes_on(body)) return std::nullopt;
  }
  const auto trips = context.dims(0);
  return trips && trips->size() == 1 ? std::optional(max((*trips)[0], 0)) : std::nullopt;
}

Result<void> check_loop(const OpContext& context) {
  const Graph& body = context.get_graph("body");
  const int states = loop_states(context);
  for (int i = 0; i < 2; ++i)
    if (context.has_input(i)) TRY_VOID(expect_scalar(context, i));
  for (int i = 0; i < states; ++i)
    if (!context.has_input(2 + i)) return context.invalid("an initial value of state {} expected, none found", i);
  TRY_VOID(expect_body(context, body, 2 + states, 1 + std::max(states, context.output_count())));
  const ValueType& condition = body.value(body.outputs()[0]).type;
  if (condition.is_tensor() && condition.dtype != DataType::kBool)
    return context.invalid("a body whose first output is a condition of type bool expected, {} found",
                           name(condition.dtype));
  return {};
}

/// Types of the body's formal inputs that hold in every iteration, and of its outputs for these.
struct LoopTypes {
  std::vector<ValueType> inputs, outputs;
  std::set<std::string> varying;  ///< symbols of dims that change from iteration to iteration
};

/// A state's dim that the body changes becomes a symbol; then the body is inferred again.
Result<LoopTypes> loop_types(const OpContext& context, const Graph& body) {
  const int states = loop_states(context);
  LoopTypes types;
  types.inputs = {scalar_type_for(body, 0, DataType::kInt64), scalar_type_for(body, 1, DataType::kBool)};
  for (int i = 0; i < states; ++i) types.inputs.push_back(context.type(2 + i));
  bool patient = height(body) <= kMaxRefinedHeight;
  for (int round = 0;; ++round) {
    patient = patient && round < 3;
    TRY(types.outputs, context.infer_body(body, types.inputs));
    bool changed = false;
    for (int i = 0; i < states; ++i) {
      ValueType& before = types.inputs[2 + i];
      const ValueType& after = types.outputs[1 + i];
      if (!before.shape) continue;
      if (after.is_tensor() && after.dtype != before.dtype)
        return context.invalid("state {} of type {} after an iteration expected, {} found", i, name(before.dtype),
                               name(after.dtype));
      const bool same_rank = after.has_shape() && after.shape->size() == before.shape->size();
      if (!same_rank) {
        before = of_unknown_rank(before.dtype);
        changed = true;
        continue;
      }
      for (size_t k = 0; k < before.shape->size(); ++k) {
        Dim& dim = (*before.shape)[k];
        const std::string symbol = size_by_step(body.value(body.inputs()[2 + i]).name, static_cast<int64_t>(k));
        if (dim == (*after.shape)[k] || types.varying.contains(symbol)) continue;
        types.varying.insert(symbol);
        dim = Dim::symbol(symbol);
        changed = true;
      }
    }
    if (!changed) return types;
    if (patient) continue;
    for (size_t i = 1; i < types.outputs.size(); ++i)
      if (types.outputs[i].is_tensor()) types.outputs[i].shape = std::nullopt;
    return types;
  }
}

Result<std::vector<ValueType>> loop_infer(const OpContext& context) {
  TRY_VOID(check_loop(context));
  const Graph& body = context.get_graph("body");
  const int states = loop_states(context);
  TRY(LoopTypes types, loop_types(context, body));
  const std::set<std::string> local = local_symbols(body, types.varying);
  std::vector<ValueType> result;
  for (int i = 0; i < states; ++i) result.push_back(exported(context, i, types.inputs[2 + i], local));
  std::optional<Dim> trips = trip_count(context, body);
  for (size_t k = 1 + states; k < types.outputs.size(); ++k) {
    const int output = static_cast<int>(k) - 1;
    if (output >= context.output_count()) break;
    if (!trips && context.wants_output(output)) trips = context.fresh(output, 0);
    ValueType whole = stacked_type(types.outputs[k], 0, trips.value_or(0));
    result.push_back(exported(context, output, std::move(whole), local));
  }
  return result;
}

Result<std::vector<Array>> loop_run(const OpContext& context, std::span<const Array> inputs, BodyRunner& runner) {
  TRY_VOID(check_loop(context));
  const Graph& body = context.get_graph("body");
  const int states = loop_states(context);
  int64_t trips = std::numeric_limits<int64_t>::max(), condition = 1;
  if (context.has_input(0)) {
    TRY(trips, scalar_of(context, inputs[0], "M"));
  }
  if (context.has_input(1)) {
    TRY(condition, scalar_of(context, inputs[1], "cond"));
  }
  const auto too_long = [&] { return context.unsupported("a loop of at most {} iterations expected", kMaxIterations); };
  if (trips > kMaxIterations && condition && (!context.has_input(1) || goes_on(body))) return too_long();
  std::vector<Array> state(inputs.begin() + std::min<size_t>(2, inputs.size()), inputs.end());
  std::vector<std::vector<Array>> collected(body.outputs().size() - 1 - states);
  for (int64_t i = 0; i < trips && condition; ++i) {
    if (i == kMaxIterations) return too_long();
    std::vector<Array> actual = {scalar_for(body, 0, DataType::kInt64, i),
                                 scalar_for(body, 1, DataType::kBool, condition != 0)};
    actual.insert(actual.end(), state.begin(), state.end());
    TRY(std::vector<Array> outputs, runner.run(body, actual));
    if (context.has_input(1)) {
      TRY(condition, scalar_of(context, outputs[0], "the body's condition"));
    }
    for (int k = 0; k < states; ++k) state[k] = std::move(outputs[1 + k]);
    TRY_VOID(collect(context, std::span(outputs).subspan(1 + states), collected));
  }
  std::vector<ValueType> none(body.outputs().size());
  if (!collected.empty() && collected[0].empty()) {
    std::vector<ValueType> formals = {scalar_type_for(body, 0, DataType::kInt64),
                                      scalar_type_for(body, 1, DataType::kBool)};
    for (int i = 0; i < states; ++i) formals.push_back(context.type(2 + i));
    none = types_of_none(context, body, formals);
  }
  for (size_t k = 0; k < collected.size(); ++k) {
    TRY(Array whole, stacked(context, std::move(collected[k]), 0, false, none[1 + states + k]));
    state.push_back(std::move(whole));
  }
  return state;
}

// Scan

struct ScanPlan {
  int states, sequences;
  std::vector<int64_t> input_axes, output_axes;  ///< output axes may be negative: their ranks are the body's to tell
  std::vector<bool> input_backward, output_backward;
};

/// A list attribute with one value for each of `count`; all 0 where it is absent.
Result<std::vector<int64_t>> flags(const OpContext& context, const char* name, size_t count) {
  if (!context.has_attribute(name)) return std::vector<int64_t>(count, 0);
  const std::vector<int64_t>& values = context.get_ints(name);
  if (values.size() != count) return context.invalid("{} values in {} expected, {} found", count, name, values.size());
  return values;
}

Result<std::vector<bool>> directions(const OpContext& context, const char* name, size_t count) {
  TRY(const std::vector<int64_t> values, flags(context, name, count));
  std::vector<bool> backward;
  for (const int64_t value : values) {
    if (value != 0 && value != 1) return context.invalid("directions of 0 or 1 in {} expected, {} found", name, value);
    backward.push_back(value == 1);
  }
  return backward;
}

Result<ScanPlan> plan_scan(const OpContext& context) {
  const Graph& body = context.get_graph("body");
  const int64_t sequences = context.get_int("num_scan_inputs");
  if (sequences < 1 || sequences > context.input_count())
    return context.invalid("num_scan_inputs in [1, {}] expected, {} found", context.input_count(), sequences);
  for (int i = 0; i < context.input_count(); ++i)
    if (!context.has_input(i) || !context.type(i).is_tensor())
      return context.invalid("a tensor as input {} expected, none found", i);
  ScanPlan plan;
  plan.sequences = static_cast<int>(sequences);
  plan.states = context.input_count() - plan.sequences;
  TRY_VOID(expect_body(context, body, context.input_count(), std::max(plan.states, context.output_count())));
  const size_t scanned = body.outputs().size() - plan.states;
  TRY(plan.input_axes, flags(context, "scan_input_axes", plan.sequences));
  TRY(plan.output_axes, flags(context, "scan_output_axes", scanned));
  TRY(plan.input_backward, directions(context, "scan_input_directions", plan.sequences));
  TRY(plan.output_backward, directions(context, "scan_output_directions", scanned));
  for (int k = 0; k < plan.sequences; ++k) {
    const int input = plan.states + k;
    TRY(plan.input_axes[k], context.normalize_axis(plan.input_axes[k], context.rank(input), "scan_input_axes"));
    const Dim& first = context.dim(plan.states, static_cast<int>(plan.input_axes[0]));
    const Dim& length = context.dim(input, static_cast<int>(plan.input_axes[k]));
    if (first.is_constant() && length.is_constant() && first != length)
      return context.invalid("scan inputs of one length expected, {} and {} found", first.text(), length.text());
  }
  return plan;
}

/// What the body is given: the states, and sequences without their axes.
std::vector<ValueType> element_types(const OpContext& context, const ScanPlan& plan) {
  std::vector<ValueType> types;
  for (int i = 0; i < plan.states; ++i) types.push_back(context.type(i));
  for (int k = 0; k < plan.sequences; ++k) {
    types.push_back(context.type(plan.states + k));
    types.back().shape->erase(types.back().shape->begin() + plan.input_axes[k]);
  }
  return types;
}

Result<std::vector<ValueType>> scan_infer(const OpContext& context) {
  TRY(const ScanPlan plan, plan_scan(context));
  const Graph& body = context.get_graph("body");
  const std::vector<ValueType> inputs = element_types(context, plan);
  TRY(std::vector<ValueType> outputs, context.infer_body(body, inputs));
  const Dim& length = context.dim(plan.states, static_cast<int>(plan.input_axes[0]));
  const std::set<std::string> local = local_symbols(body);
  for (int i = 0; i < context.output_count(); ++i) {
    if (i < plan.states) {
      TRY(outputs[i], common_type(context, i, inputs[i], outputs[i]));
    } else if (outputs[i].has_shape()) {
      const int rank = static_cast<int>(outputs[i].shape->size()) + 1;
      TRY(const int axis, context.normalize_axis(plan.output_axes[i - plan.states], rank, "scan_output_axes"));
      outputs[i] = stacked_type(outputs[i], axis, length);
    }
    outputs[i] = exported(context, i, outputs[i], local);
  }
  return outputs;
}

Result<std::vector<Array>> scan_run(const OpContext& context, std::span<const Array> inputs, BodyRunner& runner) {
  TRY(const ScanPlan plan, plan_scan(context));
  const Graph& body = context.get_graph("body");
  const int64_t length = inputs[plan.states].dims()[plan.input_axes[0]];
  std::vector<Array> state(inputs.begin(), inputs.begin() + plan.states);
  std::vector<std::vector<Array>> collected(body.outputs().size() - plan.states);
  for (int64_t t = 0; t < length; ++t) {
    std::vector<Array> actual = state;
    for (int k = 0; k < plan.sequences; ++k) {
      const int64_t axis = plan.input_axes[k], step = plan.input_backward[k] ? length - 1 - t : t;
      TRY(const Array element, te::slice(inputs[plan.states + k], axis, step, 1));
      actual.push_back(te::without_axis(element, axis));
    }
    TRY(std::vector<Array> outputs, runner.run(body, actual));
    for (int k = 0; k < plan.states; ++k) state[k] = std::move(outputs[k]);
    TRY_VOID(collect(context, std::span(outputs).subspan(plan.states), collected));
  }
  const std::vector<ValueType> none = length > 0 ? std::vector<ValueType>(body.outputs().size())
                                                 : types_of_none(context, body, element_types(context, plan));
  for (size_t k = 0; k < collected.size(); ++k) {
    TRY(Array whole,
        stacked(context, std::move(collected[k]), plan.output_axes[k], plan.output_backward[k], none[plan.states + k]));
    state.push_back(std::move(whole));
  }
  return state;
}

/// A list attribute of the node, all 0 where it is absent.
Result<std::vector<int64_t>> take_flags(NodeForm& form, std::string_view name, size_t count) {
  TRY(auto values, form.take_ints(name));
  if (values && values->size() != count)
    return form.invalid("{} values in {} expected, {} found", count, name, values->size());
  return values ? std::move(*values) : std::vector<int64_t>(count, 0);
}

Result<ValueId> length_of(NodeForm& form, int input, int64_t axis) {
  const Shape& shape = *form.type(input).shape;
  const Dim& length = shape[axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis];
  if (length.is_constant()) return form.scalar(DataType::kInt64, static_cast<double>(length.value()), "length");
  TRY(const ValueId dims, form.emit("Shape", {form.input(input)}));
  return form.emit("Gather", {dims, form.scalar(DataType::kInt64, static_cast<double>(axis), "axis")},
                   {{"axis", int64_t{0}}});
}

/// What the loop stacks along axis 0 becomes output i: in the other order, along another axis.
Result<void> turn_output(NodeForm& form, int i, int64_t axis, bool backward) {
  if (!form.has_output(i) || (axis == 0 && !backward)) return {};
  const ValueType& type = form.graph().value(form.node().outputs[i]).type;
  if (!type.has_shape()) return form.unsupported("outputs of known rank expected");
  const auto rank = static_cast<int64_t>(type.shape->size());
  const ValueId output = form.detour(i);
  ValueId stack = form.node().outputs[i];
  if (axis < 0) axis += rank;
  if (backward) {
    Value turned;
    turned.name = form.graph().fresh_name("backward");
    const ValueId to = axis == 0 ? output : form.graph().add_value(std::move(turned));
    const auto one = [&](int64_t value, const char* hint) { return form.ints({value}, hint); };
    form.emit_after(
        "Slice",
        {stack, one(-1, "starts"), one(std::numeric_limits<int64_t>::min(), "ends"), one(0, "axes"), one(-1, "steps")},
        {}, to);
    stack = to;
  }
  if (axis == 0) return {};
  std::vector<int64_t> order;
  for (int64_t k = 1; k < rank; ++k) order.push_back(k);
  order.insert(order.begin() + axis, 0);
  form.emit_after("Transpose", {stack}, {{"perm", std::move(order)}}, output);
  return {};
}

/// A Loop whose body gathers the elements of the sequences, which it captures, by the number of the iteration.
Result<void> scan_as_loop(NodeForm& form) {
  TRY(const std::optional<int64_t> count, form.take_int("num_scan_inputs"));
  const auto sequences = static_cast<int>(count.value_or(0)), states = form.input_count() - sequences;
  Graph body = *std::get<GraphPtr>(form.node().attributes.at("body"));
  const size_t stacks = body.outputs().size() - states;
  TRY(const std::vector<int64_t> input_axes, take_flags(form, "scan_input_axes", sequences));
  TRY(const std::vector<int64_t> input_backward, take_flags(form, "scan_input_directions", sequences));
  TRY(const std::vector<int64_t> output_axes, take_flags(form, "scan_output_axes", stacks));
  TRY(const std::vector<int64_t> output_backward, take_flags(form, "scan_output_directions", stacks));
  for (int k = 0; k < sequences; ++k)
    if (!form.has_rank(states + k) || !kPlain.contains(form.type(states + k).dtype))
      return form.unsupported("scan inputs of known rank, and of a type that Gather takes, expected");

  const auto add_scalar = [&](const char* hint, DataType dtype) {
    Value value;
    value.name = body.fresh_name(hint);
    value.type = ValueType::tensor(dtype, {});
    return body.add_value(std::move(value));
  };
  const ValueId iteration = add_scalar("iteration", DataType::kInt64),
                condition = add_scalar("condition", DataType::kBool);
  const std::vector<ValueId> formals = body.inputs();
  std::vector<ValueId> inputs = {iteration, condition}, captures = body.captures();
  inputs.insert(inputs.end(), formals.begin(), formals.begin() + states);
  Node makes_elements;
  makes_elements.outputs.assign(formals.begin() + states, formals.end());
  NodeForm inside(body, std::move(makes_elements));
  for (int k = 0; k < sequences; ++k) {
    Value whole;
    whole.name = body.fresh_name(body.value(formals[states + k]).name + "_whole");
    whole.type = form.type(states + k);
    captures.push_back(body.add_value(std::move(whole)));
    form.node().captures.push_back(form.input(states + k));
    ValueId number = iteration;
    if (input_backward[k]) {
      TRY(number, inside.emit("Sub", {inside.scalar(DataType::kInt64, -1, "last"), iteration}));
    }
    TRY_VOID(inside.emit_as(k, "Gather", {captures.back(), number}, {{"axis", input_axes[k]}}));
  }
  TRY(const ValueId goes_on, inside.emit("Identity", {condition}));
  std::vector<ValueId> outputs = body.outputs();
  outputs.insert(outputs.begin(), goes_on);
  body.set_inputs(std::move(inputs));
  body.set_captures(std::move(captures));
  body.set_outputs(std::move(outputs));

  TRY(const ValueId trips, length_of(form, states, input_axes[0]));
  for (size_t k = 0; k < stacks; ++k)
    TRY_VOID(turn_output(form, states + static_cast<int>(k), output_axes[k], output_backward[k] != 0));
  Node& node = form.node();
  node.op = find_op("", "Loop");
  node.op_type = "Loop";
  node.inputs.resize(states);
  node.inputs.insert(node.inputs.begin(), {trips, ValueId()});
  form.set("body", std::make_shared<const Graph>(std::move(body)));
  return {};
}

Result<void> refuse_batches(NodeForm& form) {
  return form.unsupported("opset 9 or newer expected: opset 8 scans batches");
}

}  // namespace

std::vector<OpDef> control_flow() {
  return {
      {.name = "If",
       .since = 21,
       .inputs = {"cond:B"},
       .outputs = {"outputs*:V~"},
       .types = {{"B", kBoolean}, {"V", kComputable}},
       .attributes = {required("then_branch", AttributeKind::kGraph), required("else_branch", AttributeKind::kGraph)},
       .versions = {{19}, {16}, {13}, {11}, {1}},
       .infer = if_infer,
       .control = if_run,
       .form = BranchForm{.then_body = "then_branch", .else_body = "else_branch"},
       .expand = taken_branch},
      {.name = "Loop",
       .since = 21,
       .inputs = {"M?:I", "cond?:B", "v_initial*:V~"},
       .outputs = {"v_final_and_scan_outputs*:V~"},
       .types = {{"I", DataType::kInt64}, {"B", kBoolean}, {"V", kComputable}},
       .attributes = {required("body", AttributeKind::kGraph)},
       .versions = {{19}, {16}, {13}, {11}, {1}},
       .infer = loop_infer,
       .control = loop_run,
       .form = LoopForm{.body = "body"}},
      {.name = "Scan",
       .since = 21,
       .inputs = {"initial_state_and_scan_inputs*:V~"},
       .outputs = {"final_state_and_scan_outputs*:V~"},
       .types = {{"V", kComputable}},
       .attributes = {required("body", AttributeKind::kGraph), required("num_scan_inputs", AttributeKind::kInt),
                      optional("scan_input_axes", AttributeKind::kInts),
                      optional("scan_input_directions", AttributeKind::kInts),
                      optional("scan_output_axes", AttributeKind::kInts),
                      optional("scan_output_directions", AttributeKind::kInts)},
       .versions = {{19}, {16}, {11}, {9}, {8, refuse_batches, refuse_batches}},
       .infer = scan_infer,
       .control = scan_run,
       .expand = scan_as_loop},
  };
}

}  // namespace isomer::ops
