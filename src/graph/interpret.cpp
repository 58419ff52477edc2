#include "graph/interpret.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "graph/infer.h"
#include "graph/op_context.h"
#include "graph/run_order.h"
#include "graph/sequence_ops.h"
#include "graph/te/interpret.h"
#include "util/parallel.h"
#include "util/stop.h"

namespace isomer {
namespace {

using te::Array;

/// Elements of computed arrays up to this count are shown to rows: shapes, axes, scales.
constexpr int64_t kMaxShown = 1024;
/// More often than the bodies of a model mean to run, all loops in loops together.
constexpr int64_t kMaxBodyRuns = int64_t{1} << 20;

/// An array as rows see an input: its type, and its elements where they may decide a program.
struct Shown {
  ValueType type;
  std::optional<Content> content;
  std::optional<Tensor> tensor;
};

Shown show(const Array& array, const Tensor* constant) {
  Shown shown;
  if (!array.is_tensor()) {
    shown.type.kind = ValueType::Kind::kOther;
    return shown;
  }
  shown.type = ValueType::tensor(array.dtype(), Shape(array.dims().begin(), array.dims().end()));
  if (constant)
    shown.tensor = *constant;
  else if (array.count() <= kMaxShown)
    shown.tensor = te::to_tensor(array);
  if (shown.tensor) shown.content = content_of(*shown.tensor);
  return shown;
}

Result<void> round_elements(Array& array, MemoryLimit memory) {
  if (!is_float(array.dtype()) || array.dtype() == DataType::kFloat64 || array.empty() ||
      array.storage() != te::Storage::kDouble)
    return {};
  TRY(Array rounded, Array::allocate(array.dtype(), array.dims(), memory));
  const std::span<const double> values = array.reals();
  double* const elements = rounded.mutable_reals();
  if (array.dtype() == DataType::kFloat32)
    for (size_t i = 0; i < values.size(); ++i) elements[i] = static_cast<float>(values[i]);
  else
    for (size_t i = 0; i < values.size(); ++i) elements[i] = round_to(array.dtype(), values[i]);
  array = std::move(rounded);
  return {};
}

class Interpreter {
 public:
  explicit Interpreter(const InterpretOptions& options)
      : options_(options), pool_(options.threads), random_(options.movement ? options.movement->seed : 0) {}

  Result<std::vector<Array>> run(const Graph& graph, std::span<const Array> inputs, std::span<const Array> captures,
                                 bool outermost) {
    TRY(const RunOrder* order, order_of(graph));
    std::vector<int> uses = order->uses;
    std::vector<Array> arrays(uses.size());
    TRY_VOID(bind_inputs(graph, inputs, arrays, outermost));
    for (size_t i = 0; i < captures.size(); ++i) arrays[graph.captures()[i].index] = captures[i];
    for (const NodeId id : order->nodes) {
      TRY_VOID(may_go_on_());
      if (auto done = run_node(graph, id, arrays, outermost); !done.ok()) {
        if (outermost && options_.failed) options_.failed(id);
        return std::move(done).error();
      }
      const Node& node = graph.node(id);
      for (const auto* list : {&node.inputs, &node.captures})
        for (const ValueId value : *list)
          if (value.valid() && --uses[value.index] == 0) arrays[value.index] = Array();
      for (const ValueId value : node.outputs)
        if (value.valid() && uses[value.index] == 0) arrays[value.index] = Array();
    }
    std::vector<Array> outputs;
    for (const ValueId output : graph.outputs()) {
      TRY(Array array, fetch(graph, output, arrays));
      outputs.push_back(std::move(array));
    }
    return outputs;
  }

 private:
  class Bodies : public BodyRunner {
   public:
    Bodies(Interpreter& interpreter, ControlForm form, std::vector<Array> captures)
        : interpreter_(interpreter), form_(form), captures_(std::move(captures)) {}
    Result<std::vector<Array>> run(const Graph& body, std::span<const Array> inputs) override {
      if (++interpreter_.body_runs_ > kMaxBodyRuns)
        return unsupported("", "bodies that run at most {} times in all expected", kMaxBodyRuns);
      auto outputs = interpreter_.run(body, inputs, captures_, false);
      // What iterations made is kept until the last one, and then stacked: as much again.
      if (outputs.ok() && stacks(body))
        TRY_VOID(interpreter_.options_.memory.check(Array::live_bytes() - before_, "what a loop keeps"));
      return outputs;
    }

   private:
    bool stacks(const Graph& body) const {
      // The number of the iteration comes in; of the others as many as go out are states.
      if (std::holds_alternative<LoopForm>(form_)) return body.outputs().size() + 1 > body.inputs().size();
      return !std::holds_alternative<BranchForm>(form_);
    }

    Interpreter& interpreter_;
    const ControlForm form_;
    std::vector<Array> captures_;
    const int64_t before_ = Array::live_bytes();
  };

  Result<const RunOrder*> order_of(const Graph& graph) {
    const auto known = orders_.find(&graph);
    if (known != orders_.end()) return &known->second;
    TRY(RunOrder order, run_order(graph));
    return &orders_.emplace(&graph, std::move(order)).first->second;
  }

  /// A body runs on the shapes that it is given: states of loops change theirs, whatever the file declares.
  Result<void> bind_inputs(const Graph& graph, std::span<const Array> inputs, std::vector<Array>& arrays,
                           bool outermost) {
    if (inputs.size() != graph.inputs().size())
      return invalid("inputs", "{} expected, {} found", graph.inputs().size(), inputs.size());
    std::map<std::string, int64_t> symbols;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = graph.value(graph.inputs()[i]);
      if (inputs[i].empty()) {
        if (!value.constant) return invalid(value.name, "a tensor expected, none found");
        continue;
      }
      if (outermost) TRY_VOID(check_input(value, inputs[i], symbols));
      arrays[graph.inputs()[i].index] = outermost && options_.movement && inputs[i].is_tensor()
                                            ? moved_input(inputs[i], *options_.movement, random_)
                                            : inputs[i];
    }
    return {};
  }

  static Result<void> check_input(const Value& value, const Array& array, std::map<std::string, int64_t>& symbols) {
    const auto mismatch = [&] {
      return invalid(value.name, "{} expected, {}[{}] found", value.type.text(), name(array.dtype()),
                     fmt::join(array.dims(), ","));
    };
    if (!value.type.is_tensor()) return {};
    if (!array.is_tensor()) return invalid(value.name, "{} expected, another kind of value found", value.type.text());
    if (value.type.dtype != array.dtype() && value.type.dtype != DataType::kUndefined) return mismatch();
    if (!value.type.shape) return {};
    if (value.type.shape->size() != array.dims().size()) return mismatch();
    for (size_t k = 0; k < array.dims().size(); ++k) {
      const Dim& dim = (*value.type.shape)[k];
      if (dim.is_constant() && !dim.is(array.dims()[k])) return mismatch();
      if (dim.is_constant()) continue;
      const te::Symbol* symbol = te::as<te::Symbol>(dim.expr());
      if (symbol && symbols.emplace(symbol->name, array.dims()[k]).first->second != array.dims()[k]) return mismatch();
    }
    return {};
  }

  /// The array of a value: computed, given, or constant.
  static Result<Array> fetch(const Graph& graph, ValueId id, const std::vector<Array>& arrays) {
    if (!arrays[id.index].empty()) return arrays[id.index];
    const Value& value = graph.value(id);
    if (!value.constant) return invalid(value.name, "a value that was computed expected");
    if (!is_computable(value.constant->dtype()))
      return unsupported(value.name, "a number tensor expected, {} found", name(value.constant->dtype()));
    return Array::from(*value.constant);
  }

  Result<std::vector<Array>> fetch_all(const Graph& graph, const std::vector<ValueId>& values,
                                       const std::vector<Array>& arrays) {
    std::vector<Array> fetched(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].valid()) {
        TRY(fetched[i], fetch(graph, values[i], arrays));
      }
    return fetched;
  }

  Result<void> run_node(const Graph& graph, NodeId id, std::vector<Array>& arrays, bool outermost) {
    const Node& node = graph.node(id);
    const std::string place = label(graph, id);
    if (node.is_opaque() && !is_sequence_op(node))
      return unsupported(place, "an operator that can be run expected: {}", node.opaque_reason);
    auto inputs = fetch_all(graph, node.inputs, arrays);
    if (!inputs.ok()) return std::move(inputs).error().within(place);
    TRY(std::vector<Array> outputs, evaluate(graph, node, place, *inputs, arrays));
    for (size_t i = 0; i < node.outputs.size() && i < outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      if (!outputs[i].is_tensor()) {
        arrays[node.outputs[i].index] = std::move(outputs[i]);
        continue;
      }
      if (options_.round_values)
        if (auto rounded = round_elements(outputs[i], options_.memory); !rounded.ok())
          return std::move(rounded).error().within(place);
      if (options_.movement) move_elements(outputs[i], *options_.movement, random_);
      if (outermost && options_.observe) options_.observe(node.outputs[i], outputs[i]);
      arrays[node.outputs[i].index] = std::move(outputs[i]);
    }
    return {};
  }

  Result<std::vector<Array>> evaluate(const Graph& graph, const Node& node, const std::string& place,
                                      const std::vector<Array>& inputs, const std::vector<Array>& arrays) {
    if ((node.is_opaque() || !std::ranges::all_of(inputs, &Array::is_tensor)) && is_sequence_op(node)) {
      TRY(std::vector<Array> captured, fetch_all(graph, node.captures, arrays));
      Bodies bodies(*this, {}, std::move(captured));
      return run_sequence_op(node, place, inputs, bodies);
    }
    std::vector<Shown> shown(inputs.size());
    std::vector<OpContext::Input> formal(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].empty()) continue;
      shown[i] = show(inputs[i], graph.is_constant(node.inputs[i]) ? &*graph.value(node.inputs[i]).constant : nullptr);
      formal[i] = {true, shown[i].type, shown[i].content ? &*shown[i].content : nullptr,
                   shown[i].tensor ? &*shown[i].tensor : nullptr};
    }
    std::vector<std::string> names;
    for (const ValueId output : node.outputs) names.push_back(output.valid() ? graph.value(output).name : "");
    if (node.op->control) {
      TRY(std::vector<Array> captured, fetch_all(graph, node.captures, arrays));
      const auto infer_inside = [&captured](const Graph& body, const std::vector<ValueType>& types) {
        return infer_body(body, types, captured);
      };
      const OpContext context(*node.op, node.attributes, place, std::move(formal), std::move(names), infer_inside);
      Bodies bodies(*this, node.op->form, captured);
      return node.op->control(context, inputs, bodies);
    }
    const OpContext context(*node.op, node.attributes, place, std::move(formal), std::move(names));
    // The row's checks come with inference: a program is only asked for where types fit.
    TRY_VOID(ignore_value(infer_types(context)));
    TRY(te::Program program, node.op->compute(context));
    if (options_.movement) move_inside(program, *options_.movement, random_);
    if (options_.movement || options_.round_inside) round_inside(program);
    auto outputs = te::interpret(program, inputs, {.pool = &pool_, .poll = &may_go_on_, .memory = options_.memory});
    if (!outputs.ok()) return std::move(outputs).error().within(place);
    return outputs;
  }

  static Result<std::vector<ValueType>> infer_body(const Graph& body, const std::vector<ValueType>& inputs,
                                                   const std::vector<Array>& captures) {
    Graph refined = body;
    for (size_t i = 0; i < inputs.size(); ++i) refined.edit(refined.inputs()[i]).type = inputs[i];
    for (size_t i = 0; i < captures.size(); ++i) {
      const Shown shown = show(captures[i], nullptr);
      refined.edit(refined.captures()[i]).type = shown.type;
      refined.edit(refined.captures()[i]).content = shown.content;
    }
    TRY_VOID(infer(refined));
    std::vector<ValueType> types;
    for (const ValueId output : refined.outputs()) types.push_back(refined.value(output).type);
    return types;
  }

  template <class T>
  static Result<void> ignore_value(Result<T> result) {
    if (!result.ok()) return std::move(result).error();
    return {};
  }

  const InterpretOptions& options_;
  ThreadPool pool_;
  Random random_;
  const std::function<Result<void>()> may_go_on_ = [this]() -> Result<void> {
    if (options_.until && Clock::now() >= *options_.until) return Error{ErrorKind::kStopped, "", "out of time"};
    return check_stop();
  };
  std::unordered_map<const Graph*, RunOrder> orders_;  ///< what of a graph does not change between runs
  int64_t body_runs_ = 0;
};

}  // namespace

Result<std::vector<Array>> interpret(const Graph& graph, std::span<const Array> inputs,
                                     const InterpretOptions& options) {
  return Interpreter(options).run(graph, inputs, {}, true);
}

}  // namespace isomer
