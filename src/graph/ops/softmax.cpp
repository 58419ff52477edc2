// Softmax LogSoftmax Hardmax: along one axis; up to opset 12 over all axes from one on.
#include "graph/ops/common.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

Result<std::vector<ValueType>> infer_along_axis(const OpContext& context) {
  TRY_VOID(context.normalize_axis(context.get_int("axis"), context.rank(0)));
  return same_as_first(context);
}

/// A value for each place beside the axis, found by reductions along it.
struct AlongAxis {
  Shape shape, rest, along;
  std::vector<Expr> place;   ///< of the input, inside a reduction
  std::vector<Expr> beside;  ///< of a reduced value, for a place of the output
  int axis;
};

Result<AlongAxis> along_axis(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  AlongAxis result{context.shape(0), {}, {context.dim(0, axis)}, {}, {}, axis};
  for (int k = 0; k < context.rank(0); ++k) {
    if (k == axis) {
      result.place.push_back(te::reduce_axis(0));
      continue;
    }
    result.place.push_back(te::axis(static_cast<int>(result.rest.size())));
    result.beside.push_back(te::axis(k));
    result.rest.push_back(context.dim(0, k));
  }
  return result;
}

/// With the maximum subtracted first, no exponential overflows. One division a row, not one an element.
Compute softmax_or_log(bool log) {
  return [log](const OpContext& context) -> Result<te::Program> {
    TRY(const AlongAxis at, along_axis(context));
    const DataType dtype = context.dtype(0);
    te::Program program;
    const auto greatest = program.reduce(at.rest, at.along, te::maximum(dtype), context.load(0, at.place));
    const Expr x = context.load_broadcast(0, at.shape) - program.load(greatest, at.beside);
    const auto power = program.map(at.shape, te::exp(x));
    const auto total = program.reduce(at.rest, at.along, te::sum(dtype), program.load(power, at.place));
    const Expr sum = program.load(total, at.beside);
    program.outputs = {
        program.map(at.shape, log ? x - te::log(sum)
                                  : program.load(power, te::axes(context.rank(0))) * (te::literal(1, dtype) / sum))};
    return program;
  };
}

Result<te::Program> compute_hardmax(const OpContext& context) {
  TRY(const AlongAxis at, along_axis(context));
  const DataType dtype = context.dtype(0);
  te::Program program;
  te::StageValue index =
      program.reduce(at.rest, at.along, te::argmax(dtype, false), {context.load(0, at.place), te::reduce_axis(0)});
  index.component = 1;
  const Expr hit = te::equal(program.load(index, at.beside), te::axis(at.axis));
  program.outputs = {program.map(at.shape, te::select(hit, te::literal(1, dtype), te::literal(0, dtype)))};
  return program;
}

/// The only axis from `first` on that is not of size 1, or the last; -1 if there are several.
int single_axis(const Shape& shape, int first) {
  int found = -1;
  for (int k = first; k < static_cast<int>(shape.size()); ++k) {
    if (shape[k].is(1)) continue;
    if (found >= 0) return -1;
    found = k;
  }
  return found >= 0 ? found : static_cast<int>(shape.size()) - 1;
}

/// Up to opset 12 the axes from `axis` on (1 if absent) are taken as one.
Result<void> from_axis_on(NodeForm& form) {
  TRY(const auto written, form.take_int("axis"));
  const int64_t axis = written.value_or(1);
  if (!form.type(0).is_tensor()) return form.unsupported("an input of known type expected");
  if (form.has_rank(0)) {
    const int rank = form.rank(0);
    if (axis < -rank || axis > rank) return form.invalid("axis in [{}, {}] expected, {} found", -rank, rank, axis);
    const auto first = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (const int single = first < rank ? single_axis(*form.type(0).shape, first) : -1; single >= 0) {
      form.set("axis", int64_t{single});
      return {};
    }
  }
  TRY(const ValueId flat, form.emit("Flatten", {form.input(0)}, {{"axis", axis}}));
  const auto dims = form.has_rank(0) ? constants(*form.type(0).shape) : std::nullopt;
  ValueId shape;
  if (dims) {
    shape = form.ints(*dims, "shape");
  } else {
    TRY(shape, form.emit("Shape", {form.input(0)}));
  }
  form.set_input(0, flat);
  form.set("axis", int64_t{1});
  if (!form.has_output(0)) return form.unsupported("an output expected, none found");
  const ValueId original = form.detour(0);
  form.emit_after("Reshape", {form.node().outputs[0], shape}, {}, original);
  return {};
}

/// Where from_axis_on made a matrix of the input, and of the output what it was: without either.
bool take_matrix_back(NodeForm& form) {
  Graph& graph = form.graph();
  const Pattern pattern(graph);
  const Node* flat = form.has_output(0) ? pattern.producer(form.input(0), "Flatten") : nullptr;
  if (!flat) return false;
  const ValueId source = flat->inputs[0], made = form.node().outputs[0];
  const std::vector<NodeId> readers = graph.consumers()[made.index];
  if (readers.size() != 1 || !pattern.used_once(made)) return false;
  const Node* restored = pattern.node(readers[0], "Reshape");
  if (!restored || restored->inputs[0] != made) return false;
  const Node* shape = pattern.producer(restored->inputs[1], "Shape");
  const bool is_whole = shape && shape->inputs[0] == source && shape->attributes.empty();
  const ValueId result = restored->outputs[0];
  const ValueType& type = graph.value(source).type;
  if (!is_whole && (!type.has_shape() || graph.value(result).type != type)) return false;
  const auto axis = flat->attributes.find("axis");
  form.set("axis", axis == flat->attributes.end() ? int64_t{1} : axis->second);
  form.set_input(0, source);
  graph.remove_node(readers[0]);
  form.node().outputs[0] = result;
  return true;
}

/// The way back: the axis is brought to the end where others of size greater than 1 follow.
Result<void> to_axis_on(NodeForm& form) {
  TRY(const auto written, form.take_int("axis"));
  if ((written == 1 || written == -1) && take_matrix_back(form)) return {};
  if (!form.has_rank(0)) {
    // What comes from such an opset without a rank reads what from_axis_on made a matrix.
    if (written != 1) return form.unsupported("a known rank expected");
    form.set("axis", int64_t{1});
    return {};
  }
  const int rank = form.rank(0);
  const int64_t axis = written.value_or(-1) + (written.value_or(-1) < 0 ? rank : 0);
  if (single_axis(*form.type(0).shape, static_cast<int>(axis)) == axis) {
    form.set("axis", axis);
    return {};
  }
  std::vector<int64_t> swap;
  for (int64_t k = 0; k < rank; ++k) swap.push_back(k == axis ? rank - 1 : k == rank - 1 ? axis : k);
  TRY(const ValueId turned, form.emit("Transpose", {form.input(0)}, {{"perm", swap}}));
  form.set_input(0, turned);
  form.set("axis", int64_t{rank - 1});
  if (!form.has_output(0)) return form.unsupported("an output expected, none found");
  const ValueId original = form.detour(0);
  form.graph().edit(form.node().outputs[0]).type = form.type(0);
  form.emit_after("Transpose", {form.node().outputs[0]}, {{"perm", std::move(swap)}}, original);
  return {};
}

// Written out: e = Exp(x - ReduceMax(x)); e / ReduceSum(e), or its logarithm.

Result<ValueId> emit_reduction(NodeForm& form, std::string_view op_type, ValueId value, ValueId axes) {
  return form.emit(op_type, {value, axes}, {{"keepdims", int64_t{1}}});
}

Result<void> expand_softmax(NodeForm& form, bool log) {
  TRY(const auto axis, form.take_int("axis"));
  const ValueId axes = form.ints({axis.value_or(-1)}, "axes");
  TRY(const ValueId greatest, emit_reduction(form, "ReduceMax", form.input(0), axes));
  TRY(const ValueId shifted, form.emit("Sub", {form.input(0), greatest}));
  TRY(const ValueId powers, form.emit("Exp", {shifted}));
  TRY(const ValueId sum, emit_reduction(form, "ReduceSum", powers, axes));
  if (!log) return form.emit_as(0, "Div", {powers, sum});
  TRY(const ValueId log_sum, form.emit("Log", {sum}));
  return form.emit_as(0, "Sub", {shifted, log_sum});
}

/// Axis along which `op_type` makes the value from `operand`, keeping it as a dim.
std::optional<int64_t> reduced_axis(const Pattern& pattern, ValueId value, std::string_view op_type, ValueId operand) {
  const Node* reduction = pattern.producer(value, op_type);
  if (!reduction || reduction->inputs[0] != operand || reduction->inputs.size() < 2) return std::nullopt;
  const auto keepdims = reduction->attributes.find("keepdims");
  const auto axes = pattern.ints(reduction->inputs[1]);
  const bool keeps = keepdims == reduction->attributes.end() || std::get<int64_t>(keepdims->second) != 0;
  return keeps && axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

/// Softmax or LogSoftmax of what `powers` = Exp(x - max) comes from, where `sum` sums those.
std::optional<Node> propose(const Pattern& pattern, std::string_view op_type, ValueId powers, ValueId sum) {
  const Node* exp = pattern.producer(powers, "Exp");
  const Node* sub = exp ? pattern.producer(exp->inputs[0], "Sub") : nullptr;
  if (!sub) return std::nullopt;
  const auto axis = reduced_axis(pattern, sum, "ReduceSum", powers);
  if (!axis || reduced_axis(pattern, sub->inputs[1], "ReduceMax", sub->inputs[0]) != axis) return std::nullopt;
  return pattern.make(op_type, {sub->inputs[0]}, {{"axis", *axis}});
}

std::optional<Node> recognize_softmax(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  for (const auto& [exponentials, sum] : pattern.quotients(graph.node(root).outputs[0]))
    if (auto node = propose(pattern, "Softmax", exponentials, sum)) return node;
  return std::nullopt;
}

std::optional<Node> recognize_log_softmax(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* sub = pattern.node(root, "Sub");
  const Node* log = sub ? pattern.producer(sub->inputs[1], "Log") : nullptr;
  const Node* sum = log ? pattern.producer(log->inputs[0], "ReduceSum") : nullptr;
  const Node* exp = sum ? pattern.producer(sum->inputs[0], "Exp") : nullptr;
  if (!exp || exp->inputs[0] != sub->inputs[0]) return std::nullopt;
  return propose(pattern, "LogSoftmax", sum->inputs[0], log->inputs[0]);
}

}  // namespace

std::vector<OpDef> softmax() {
  const std::vector<Version> versions = {{11, from_axis_on, to_axis_on}, {1, from_axis_on, to_axis_on}};
  return {
      {.name = "Softmax",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axis", -1)},
       .versions = versions,
       .infer = infer_along_axis,
       .compute = softmax_or_log(false),
       .expand = [](NodeForm& form) { return expand_softmax(form, false); },
       .recognize = recognize_softmax,
       .axioms = {{"Softmax(x){axis=a} = Div(Exp(x),ReduceSum(Exp(x)){axes=[a],keepdims=1})", "ranked",
                   FloatClass::kUnsafe},
                  {"Softmax(Add(x,s)){axis=a} = Softmax(x){axis=a} if s_rank == 0", "ranked",
                   FloatClass::kReassociated}}},

      {.name = "LogSoftmax",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axis", -1)},
       .versions = versions,
       .infer = infer_along_axis,
       .compute = softmax_or_log(true),
       .expand = [](NodeForm& form) { return expand_softmax(form, true); },
       .recognize = recognize_log_softmax},

      {.name = "Hardmax",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axis", -1)},
       .versions = versions,
       .infer = infer_along_axis,
       .compute = compute_hardmax},
  };
}

}  // namespace isomer::ops
