#include "search/code/add_variant.h"

#include <algorithm>
#include <set>

#include "graph/op_def.h"
#include "kernel/tree.h"
#include "search/code/arena.h"
#include "util/check.h"
#include "verify/check/inputs.h"

namespace isomer::search {
namespace {

using runtime::Step;

/// A region with the values of the variant that stand for its graph's, by layout.
struct Scope {
  explicit Scope(const TaskGraph& region) : region(region), graph(*region.graph), uses(graph.use_counts()) {}
  bool reads(ValueId value) const { return uses[value.index] > 0; }

  const TaskGraph& region;
  const Graph& graph;
  std::vector<int> uses;
  std::map<std::pair<ValueId, std::string>, int> values;
  std::map<ValueId, int> sizes;  ///< values that hold the dims of the graph's
};

/// Values that kernels or bodies write row-major: these may be anywhere.
std::set<ValueId> written_in(const TaskGraph& region) {
  std::set<ValueId> written;
  for (const GraphTask& made : region.tasks)
    for (size_t k = 0; k < made.task.outputs.size(); ++k)
      if (made.view_of < 0 && made.task.output_layout(k).empty()) written.insert(made.task.outputs[k]);
  return written;
}

/// The value of which `id` is a view through views, all of them row-major; `id` where it is none.
ValueId viewed_in(const TaskGraph& region, ValueId id) {
  for (auto made = region.tasks.rbegin(); made != region.tasks.rend(); ++made) {
    const Task& task = made->task;
    if (made->view_of >= 0 && task.outputs[0] == id && task.output_layout(0).empty() &&
        task.input_layout(made->view_of).empty())
      id = task.inputs[made->view_of];
  }
  return id;
}

bool is_true(const Graph& graph, ValueId value) {
  return graph.is_constant(value) && graph.value(value).constant->count() == 1 &&
         graph.value(value).constant->integer(0) != 0;
}

class StepMaker {
 public:
  StepMaker(const std::vector<kernel::ScheduledKernel>& kernels, runtime::Artifact& artifact)
      : kernels_(kernels), artifact_(artifact) {}

  Result<runtime::Variant> make(const TaskGraph& whole) {
    Scope scope(whole);
    add_ports(scope);
    TRY_VOID(add_steps(scope, variant_.steps));
    for (const auto& [id, to] : copies_)
      variant_.steps.push_back(copy(scope.graph.value(id).name, value_of(scope, id), to));
    place_in_arena(variant_);
    return std::move(variant_);
  }

 private:
  static Step copy(const std::string& what, int from, int to) {
    Step step;
    step.name = "copy of " + what;
    step.action = runtime::CopyStep{{from, to}};
    return step;
  }

  // Values

  int add_value(std::string name, DataType dtype, const Shape& shape, runtime::Place place) {
    runtime::Value value;
    value.name = std::move(name);
    value.type = static_cast<runtime::ElementType>(dtype);
    for (const Dim& dim : shape) value.dims.push_back(dim.constant().value_or(-1));
    const bool is_fixed = constants(shape) && !std::holds_alternative<runtime::Dynamic>(place);
    value.bytes = is_fixed ? byte_size(dtype, element_count(shape).value()) : 0;
    value.place = place;
    variant_.values.push_back(std::move(value));
    return static_cast<int>(variant_.values.size()) - 1;
  }

  int add_value(const Value& value, runtime::Place place) {
    return add_value(value.name, value.type.dtype, *value.type.shape, place);
  }
  int add_value(const Value& value) { return add_value(value, place_of(*value.type.shape)); }
  /// In the arena, unless data decide the size.
  static runtime::Place place_of(const Shape& shape) {
    return constants(shape) ? runtime::Place(runtime::InArena{}) : runtime::Place(runtime::Dynamic{});
  }

  /// Equal places in memory are one weight.
  int add_weight(const Tensor& tensor) {
    const auto bytes = tensor.bytes();
    const auto [known, is_new] =
        weights_.try_emplace({bytes.data(), bytes.size()}, static_cast<int>(artifact_.weights.size()));
    if (!is_new) return known->second;
    auto owner = std::make_shared<const Tensor>(tensor);
    artifact_.weights.push_back(owner->bytes());
    artifact_.owners.push_back(std::move(owner));
    return known->second;
  }

  int add_constant(const std::string& name, const Tensor& tensor) {
    return add_value(name, tensor.dtype(), Shape(tensor.dims().begin(), tensor.dims().end()),
                     runtime::InWeights{add_weight(tensor)});
  }

  /// The value of a graph's value; a constant becomes a weight.
  int value_of(Scope& scope, ValueId id, const std::string& layout = {}) {
    if (const auto found = scope.values.find({id, layout}); found != scope.values.end()) return found->second;
    CHECK(scope.graph.is_constant(id)) << scope.graph.value(id).name;
    return scope.values[{id, std::string()}] =
               add_constant(scope.graph.value(id).name, *scope.graph.value(id).constant);
  }

  /// The same elements with other dims.
  int viewed(int value, const std::vector<int64_t>& dims) {
    if (variant_.values[value].dims == dims) return value;
    runtime::Value view = variant_.values[value];
    view.dims = dims;
    const auto* through = std::get_if<runtime::ViewOf>(&view.place);
    view.place = through ? *through : runtime::ViewOf{value, 0};
    variant_.values.push_back(std::move(view));
    return static_cast<int>(variant_.values.size()) - 1;
  }

  void add_ports(Scope& scope) {
    const Graph& graph = scope.graph;
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      const ValueId id = graph.inputs()[k];
      const int value = scope.values[{id, ""}] = add_value(graph.value(id), runtime::InInput{static_cast<int32_t>(k)});
      const Demand demand = demand_on(graph, id);
      variant_.inputs.push_back({graph.value(id).name, value, demand.below.value_or(0), demand.not_zero});
    }
    const std::set<ValueId> written = written_in(scope.region);
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      const ValueId id = graph.outputs()[k];
      const Value& value = graph.value(id);
      const bool is_fixed = constants(*value.type.shape).has_value();
      const int made = add_value(value, is_fixed ? runtime::Place(runtime::InOutput{static_cast<int32_t>(k)})
                                                 : runtime::Place(runtime::Dynamic{}));
      // What the output is a view of is written where the output lies.
      const ValueId source = is_fixed ? viewed_in(scope.region, id) : id;
      const bool in_place = written.contains(source) && !scope.values.contains({source, ""}) &&
                            scope.values.try_emplace({id, ""}, made).second;
      if (in_place && source != id)
        scope.values[{source, ""}] = add_value(graph.value(source), runtime::ViewOf{made, 0});
      if (!in_place) copies_.emplace_back(id, made);
      variant_.outputs.push_back({value.name, made, 0});
    }
  }

  void add_outputs(Scope& scope, const GraphTask& made) {
    for (size_t k = 0; k < made.task.outputs.size(); ++k) {
      const ValueId output = made.task.outputs[k];
      const std::string layout = made.task.output_layout(k);
      const Value& value = scope.graph.value(output);
      if (scope.values.contains({output, layout})) continue;
      if (made.view_of >= 0) {
        // A view of a view is one of what that views.
        const int source = value_of(scope, made.task.inputs[made.view_of], made.task.input_layout(made.view_of));
        const auto* through = std::get_if<runtime::ViewOf>(&variant_.values[source].place);
        scope.values[{output, layout}] = add_value(value, runtime::ViewOf{through ? through->value : source, 0});
      } else {
        scope.values[{output, layout}] = add_value(value);
      }
    }
  }

  // Steps

  Result<void> add_steps(Scope& scope, std::vector<Step>& steps) {
    for (const GraphTask& made : scope.region.tasks) {
      add_outputs(scope, made);
      if (made.view_of >= 0) continue;
      Step step;
      step.name = made.name;
      for (const NodeId id : made.task.nodes) step.operators.push_back(scope.graph.node(id).op_type);
      if (made.task.runs_bodies) {
        TRY(step.action, control(scope, made, steps));
      } else {
        step.action = runtime::KernelStep{made.kernel, arguments_of(scope, made, steps)};
        step.flops = kernels_[made.kernel].flops;
      }
      steps.push_back(std::move(step));
    }
    return {};
  }

  /// The dims of a value, which a step before reads.
  int sizes_of(Scope& scope, ValueId id, std::vector<Step>& steps) {
    const auto [known, is_new] = scope.sizes.try_emplace(id, -1);
    if (!is_new) return known->second;
    const Value& value = scope.graph.value(id);
    Step step;
    step.name = "sizes of " + value.name;
    const int of = value_of(scope, id);
    known->second =
        add_value(step.name, DataType::kInt64, {static_cast<int64_t>(value.type.shape->size())}, runtime::InArena{});
    step.action = runtime::ShapeStep{of, known->second};
    steps.push_back(std::move(step));
    return known->second;
  }

  /// `steps` get what reads sizes.
  std::vector<int32_t> arguments_of(Scope& scope, const GraphTask& made, std::vector<Step>& steps) {
    const kernel::Kernel& kernel = kernels_[made.kernel].kernel;
    std::set<int> used = kernel::touched(kernel.body);
    used.merge(kernel::resized(kernel));
    std::vector<int32_t> arguments(kernel.buffers.size(), -1);
    for (size_t k = 0; k < kernel.inputs.size(); ++k)
      if (const int b = kernel.inputs[k]; b >= 0 && used.contains(b))
        arguments[b] = k < made.task.inputs.size()
                           ? value_of(scope, made.task.inputs[k], made.task.input_layout(k))
                           : sizes_of(scope, made.task.sizes_of[k - made.task.inputs.size()], steps);
    for (size_t k = 0; k < kernel.outputs.size(); ++k)
      if (const int b = kernel.outputs[k]; b >= 0)
        arguments[b] = scope.values.at({made.task.outputs[k], made.task.output_layout(k)});
    const auto add = [&](int b, runtime::Place place) {
      return add_value(kernel.buffers[b].name, kernel.buffers[b].dtype, kernel.buffers[b].shape, place);
    };
    for (const auto& [b, weight] : made.packed) arguments[b] = add(b, runtime::InWeights{weight});
    for (const int b : used)
      if (arguments[b] < 0 && kernel.buffers[b].scope == kernel::Scope::kArgument)
        arguments[b] = add(b, place_of(kernel.buffers[b].shape));
    return arguments;
  }

  // Control flow

  using Action = decltype(Step::action);

  Result<Action> control(Scope& scope, const GraphTask& made, std::vector<Step>& steps) {
    const NodeId id = made.task.nodes[0];
    const ControlForm& form = scope.graph.node(id).op->form;
    auto action = std::holds_alternative<BranchForm>(form) ? branch(scope, made, std::get<BranchForm>(form))
                                                           : loop(scope, made, std::get<LoopForm>(form), steps);
    if (!action.ok()) return std::move(action).error().within(label(scope.graph, id));
    return action;
  }

  /// What a body reads of the graph around it is what that has.
  void bind_captures(Scope& outer, const Node& node, Scope& body) {
    for (size_t i = 0; i < node.captures.size(); ++i) {
      const ValueId inner = body.graph.captures()[i];
      if (body.reads(inner) && !body.graph.is_constant(inner))
        body.values[{inner, ""}] = value_of(outer, node.captures[i]);
    }
  }

  static Result<void> expect_one(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    const auto dims = value.type.has_shape() ? constants(*value.type.shape) : std::nullopt;
    if (dims && element_count(*dims) == 1) return {};
    return unsupported("", "one element expected of '{}', {} found", value.name, value.type.text());
  }

  Result<int> scalar_of(Scope& scope, ValueId id) {
    TRY_VOID(expect_one(scope.graph, id));
    return value_of(scope, id);
  }

  Result<runtime::Move> move(int from, int to, std::string_view what) const {
    const runtime::Value &a = variant_.values[from], &b = variant_.values[to];
    const bool is_open = std::holds_alternative<runtime::Dynamic>(b.place);
    if (a.type == b.type && (is_open ? a.dims.size() == b.dims.size() : a.dims == b.dims))
      return runtime::Move{from, to};
    return unsupported("", "{} of one shape expected, {} and {} found", what, describe(a.type, a.dims),
                       describe(b.type, b.dims));
  }

  Result<Action> branch(Scope& scope, const GraphTask& made, const BranchForm& form) {
    const Node& node = scope.graph.node(made.task.nodes[0]);
    runtime::BranchStep step;
    TRY(step.condition, scalar_of(scope, node.inputs[form.condition]));
    TRY(step.then_body, side(scope, node, made.bodies[0]));
    TRY(step.else_body, side(scope, node, made.bodies[1]));
    return Action(std::move(step));
  }

  Result<runtime::Body> side(Scope& scope, const Node& node, const TaskGraph& region) {
    Scope body(region);
    bind_captures(scope, node, body);
    const std::set<ValueId> written = written_in(region);
    const auto for_each_output = [&](const auto& visit) -> Result<void> {
      for (size_t k = 0; k < node.outputs.size(); ++k)
        if (node.outputs[k].valid() && scope.reads(node.outputs[k]))
          TRY_VOID(visit(body.graph.outputs()[k], scope.values.at({node.outputs[k], ""})));
      return {};
    };
    // What the body makes is written where it is wanted.
    TRY_VOID(for_each_output([&](ValueId result, int to) -> Result<void> {
      const ValueType& type = body.graph.value(result).type;
      const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
      if (written.contains(result) && dims && *dims == variant_.values[to].dims)
        body.values.try_emplace({result, ""}, to);
      return {};
    }));
    runtime::Body steps;
    TRY_VOID(add_steps(body, steps.steps));
    TRY_VOID(for_each_output([&](ValueId result, int to) -> Result<void> {
      const int from = value_of(body, result);
      if (from == to) return {};
      TRY(const runtime::Move one, move(from, to, "outputs of branches"));
      steps.moves.push_back(one);
      return {};
    }));
    return steps;
  }

  /// A result of a loop's body, and where the next iteration finds it.
  struct Carried {
    ValueId result;
    int carrier = -1;
  };

  /// `steps` get what sets the carried values first.
  Result<Action> loop(Scope& scope, const GraphTask& made, const LoopForm& form, std::vector<Step>& steps) {
    const Node& node = scope.graph.node(made.task.nodes[0]);
    Scope body(made.bodies[0]);
    bind_captures(scope, node, body);
    const auto& formals = body.graph.inputs();
    const auto& results = body.graph.outputs();
    const auto input = [&](int k) { return k < static_cast<int>(node.inputs.size()) ? node.inputs[k] : ValueId(); };
    const auto output = [&](size_t k) {
      return k < node.outputs.size() && node.outputs[k].valid() && scope.reads(node.outputs[k]) ? node.outputs[k]
                                                                                                : ValueId();
    };
    runtime::LoopStep step;
    if (const ValueId trips = input(form.trip_count); trips.valid()) {
      TRY(step.trip_count, scalar_of(scope, trips));
    }
    if (body.reads(formals[0]))
      step.iteration = body.values[{formals[0], ""}] = add_value(body.graph.value(formals[0]));
    std::vector<Carried> carried;
    TRY(step.condition, condition(scope, input(form.condition), body, carried, steps));
    const size_t states = formals.size() - 2;
    for (size_t k = 0; k < states; ++k) {
      const ValueId first = input(form.first_state + static_cast<int>(k)), formal = formals[k + 2], last = output(k);
      const Value& inside = body.graph.value(formal);
      if (results[k + 1] == formal) {
        // It stays as it is.
        body.values[{formal, ""}] = value_of(scope, first);
        if (last.valid()) TRY_VOID(copy_first(scope, first, scope.values.at({last, ""}), steps));
        continue;
      }
      if (!last.valid() && !body.reads(formal)) continue;
      if (!inside.type.has_shape())
        return unsupported("", "a state '{}' of known rank expected, {} found", inside.name, inside.type.text());
      const int carrier = last.valid() ? scope.values.at({last, ""}) : add_value(inside);
      const runtime::Value& place = variant_.values[carrier];
      if (const auto dims = constants(*inside.type.shape); dims && *dims != place.dims)
        return unsupported("", "a state '{}' of one shape in all iterations expected, {} and {} found", inside.name,
                           inside.type.text(), describe(place.type, place.dims));
      TRY_VOID(copy_first(scope, first, carrier, steps));
      body.values[{formal, ""}] = carrier;
      carried.push_back({results[k + 1], carrier});
    }
    TRY_VOID(add_steps(body, step.body.steps));
    for (const Carried& each : carried) {
      int from = value_of(body, each.result);
      if (from == each.carrier) continue;
      if (each.carrier == step.condition) from = viewed(from, variant_.values[each.carrier].dims);
      TRY(const runtime::Move next, move(from, each.carrier, "states in all iterations"));
      step.body.moves.push_back(next);
    }
    for (size_t k = states; k + 1 < results.size(); ++k) {
      if (!output(k).valid()) continue;
      TRY(const runtime::Stack stack, stacked(value_of(body, results[k + 1]), scope.values.at({output(k), ""})));
      step.stacks.push_back(stack);
    }
    return Action(std::move(step));
  }

  Result<void> copy_first(Scope& scope, ValueId first, int to, std::vector<Step>& steps) {
    const int from = value_of(scope, first);
    TRY(const runtime::Move checked, move(from, to, "states before and in a loop"));
    steps.push_back(copy(scope.graph.value(first).name, checked.from, to));
    return {};
  }

  /// What the loop step reads before each iteration, -1 where nothing ends the loop.
  Result<int> condition(Scope& scope, ValueId first, Scope& body, std::vector<Carried>& carried,
                        std::vector<Step>& steps) {
    const ValueId formal = body.graph.inputs()[1], next = body.graph.outputs()[0];
    if (!first.valid()) {
      // The body's next condition is not asked for.
      const auto dims = constants(*body.graph.value(formal).type.shape);
      const int64_t yes = 1;
      if (body.reads(formal))
        body.values[{formal, ""}] = add_constant("true", Tensor::from_ints(DataType::kBool, *dims, {&yes, 1}));
      return -1;
    }
    TRY(const int given, scalar_of(scope, first));
    if (next == formal || is_true(body.graph, next)) {
      body.values[{formal, ""}] = given;
      return is_true(scope.graph, first) ? -1 : given;
    }
    TRY_VOID(expect_one(body.graph, next));
    const int carrier = body.values[{formal, ""}] = add_value(body.graph.value(formal));
    steps.push_back(copy(scope.graph.value(first).name, viewed(given, variant_.values[carrier].dims), carrier));
    carried.push_back({next, carrier});
    return carrier;
  }

  Result<runtime::Stack> stacked(int from, int to) const {
    const runtime::Value &element = variant_.values[from], &whole = variant_.values[to];
    const bool is_open = std::holds_alternative<runtime::Dynamic>(whole.place);
    const bool fits = whole.dims.size() == element.dims.size() + 1 &&
                      (is_open || std::equal(element.dims.begin(), element.dims.end(), whole.dims.begin() + 1));
    if (element.type == whole.type && fits) return runtime::Stack{from, to};
    return unsupported("", "elements of one shape and of whole bytes to stack expected, {} for {} found",
                       describe(element.type, element.dims), describe(whole.type, whole.dims));
  }

  const std::vector<kernel::ScheduledKernel>& kernels_;  ///< by number
  runtime::Artifact& artifact_;
  runtime::Variant variant_;
  std::map<std::pair<const std::byte*, size_t>, int> weights_;
  std::vector<std::pair<ValueId, int>> copies_;  ///< to outputs that no step writes
};

}  // namespace

Result<void> add_variant(const TaskGraph& whole, const std::vector<kernel::ScheduledKernel>& kernels,
                         runtime::Artifact& artifact) {
  TRY(runtime::Variant variant, StepMaker(kernels, artifact).make(whole));
  artifact.variants.push_back(std::move(variant));
  return {};
}

}  // namespace isomer::search
