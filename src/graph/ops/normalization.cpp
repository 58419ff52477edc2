// BatchNormalization InstanceNormalization LayerNormalization RMSNormalization GroupNormalization
// MeanVarianceNormalization LRN LpNormalization: values scaled by statistics of their neighbours.
#include <algorithm>
#include <numeric>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

constexpr float kEpsilon = 1e-5f;

te::Expr epsilon(const OpContext& context, DataType dtype) {
  return te::literal(te::Number(context.get_float("epsilon")), dtype);
}

struct Moments {
  te::StageValue mean, variance;  ///< over the kept axes
};

/// Mean and variance over `reduced` of `value`, an expression over axis(…) of `kept` and reduce_axis(…). Two passes, so
/// that nothing cancels.
Moments moments(te::Program& program, const Shape& kept, const Shape& reduced, const te::Expr& value) {
  const DataType dtype = value.dtype();
  const std::vector<te::Expr> at = te::axes(static_cast<int>(kept.size()));
  const te::Expr count = count_as(dtype, element_count(reduced).expr());
  const auto mean_of = [&](const te::Expr& term) {
    const te::StageValue sum = sum_over(program, kept, reduced, term);
    return program.map(kept, program.load(sum, at) / count);
  };
  const te::StageValue mean = mean_of(value);
  const te::Expr deviation = value - program.load(mean, at);
  return {mean, mean_of(deviation * deviation)};
}

Shape tail_of(const Shape& shape, size_t first) { return {shape.begin() + static_cast<int64_t>(first), shape.end()}; }

std::vector<te::Expr> reduce_axes(size_t count) {
  std::vector<te::Expr> result;
  for (size_t k = 0; k < count; ++k) result.push_back(te::reduce_axis(static_cast<int>(k)));
  return result;
}

std::vector<te::Expr> joined(std::vector<te::Expr> head, const std::vector<te::Expr>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Result<void> require_rank(const OpContext& context, int least) {
  if (context.rank(0) < least)
    return context.invalid("an input of rank at least {} expected, {} found", least, text(context.shape(0)));
  return {};
}

// BatchNormalization with the statistics that training left.

Result<std::vector<ValueType>> infer_batch(const OpContext& context) {
  if (context.get_int("training_mode") != 0) return context.unsupported("training_mode");
  if (context.wants_output(1) || context.wants_output(2)) return context.unsupported("running statistics as outputs");
  TRY_VOID(require_rank(context, 1));
  const Dim channels = context.rank(0) > 1 ? context.dim(0, 1) : Dim(1);
  for (int i = 1; i <= 4; ++i) TRY_VOID(expect_shape(context, i, {channels}));
  const ValueType none{};
  return std::vector{ValueType::tensor(context.dtype(0), context.shape(0)), none, none};
}

Result<te::Program> compute_batch(const OpContext& context) {
  const DataType dtype = context.dtype(0);
  DataType wide = accumulator(dtype);
  for (int i = 1; i <= 4; ++i)
    if (bit_width(context.dtype(i)) > bit_width(wide)) wide = context.dtype(i);
  const auto parameter = [&](int i) {
    return te::cast(wide, context.load(i, {context.rank(0) > 1 ? te::axis(1) : te::index(0)}));
  };
  const te::Expr x = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr normal = (x - parameter(3)) / te::sqrt(parameter(4) + epsilon(context, wide));
  te::Program program = single_map(context.shape(0), te::cast(dtype, normal * parameter(1) + parameter(2)));
  program.outputs.resize(3);
  return program;
}

/// Opsets 7 to 13 had mean, var, saved_mean and saved_var as outputs of training.
Result<void> require_inference(NodeForm& form) {
  for (int i = 1; i < 5; ++i)
    if (form.has_output(i)) return form.unsupported("outputs of training");
  form.node().outputs.resize(1);
  return {};
}

/// spatial = 0: one scale, bias, mean and variance an element instead of a channel.
Result<void> normalize_each_element(NodeForm& form) {
  TRY(const auto eps, form.take_float("epsilon"));
  if (!form.has_input(4) || !is_float(form.type(4).dtype))
    return form.unsupported("a variance of known float type expected");
  TRY(const ValueId centered, form.emit("Sub", {form.input(0), form.input(3)}));
  TRY(const ValueId variance,
      form.emit("Add", {form.input(4), form.scalar(form.type(4).dtype, eps.value_or(kEpsilon), "epsilon")}));
  TRY(const ValueId deviation, form.emit("Sqrt", {variance}));
  TRY(const ValueId normal, form.emit("Div", {centered, deviation}));
  TRY(const ValueId scaled, form.emit("Mul", {normal, form.input(1)}));
  return form.emit_as(0, "Add", {scaled, form.input(2)});
}

Result<void> lift_spatial(NodeForm& form) {
  TRY_VOID(require_inference(form));
  TRY(const auto spatial, form.take_int("spatial"));
  return spatial.value_or(1) != 0 ? Result<void>() : normalize_each_element(form);
}

/// Opset 6 said by is_test that it does not train; files leave it out too.
Result<void> lift_is_test(NodeForm& form) {
  TRY_VOID(drop_consumed_inputs(form));
  TRY(const auto is_test, form.take_int("is_test"));
  if (is_test.value_or(1) == 0) return form.unsupported("is_test = 0");
  return lift_spatial(form);
}

Result<void> lower_is_test(NodeForm& form) {
  form.drop("training_mode");
  form.set("is_test", int64_t{1});
  return {};
}

Result<void> lower_consumed_inputs(NodeForm& form) {
  form.set("consumed_inputs", std::vector<int64_t>(5));
  return lower_is_test(form);
}

// InstanceNormalization, GroupNormalization: statistics of the channel, or of a group of channels, of one instance.

Result<std::vector<ValueType>> infer_instance(const OpContext& context) {
  TRY_VOID(require_rank(context, 3));
  for (int i = 1; i <= 2; ++i) TRY_VOID(expect_shape(context, i, {context.dim(0, 1)}));
  return same_as_first(context);
}

/// (x - mean) * (1 / sqrt(variance + epsilon)), with the statistics of instance axis(0) and group `group`, in their
/// type.
te::Expr standardized(const OpContext& context, const te::Program& program, const Moments& statistics,
                      const te::Expr& group) {
  const DataType wide = program.dtype(statistics.mean);
  const te::Expr x = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr deviation = te::sqrt(program.load(statistics.variance, {te::axis(0), group}) + epsilon(context, wide));
  return (x - program.load(statistics.mean, {te::axis(0), group})) * (te::literal(1, wide) / deviation);
}

Result<te::Program> compute_instance(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Shape spatial = tail_of(x, 2);
  te::Program program;
  const Moments statistics =
      moments(program, {x[0], x[1]}, spatial,
              te::cast(wide, context.load(0, joined({te::axis(0), te::axis(1)}, reduce_axes(spatial.size())))));
  const auto parameter = [&](int i) { return te::cast(wide, context.load(i, {te::axis(1)})); };
  const te::Expr normal = standardized(context, program, statistics, te::axis(1));
  program.outputs = {program.map(x, te::cast(dtype, normal * parameter(1) + parameter(2)))};
  return program;
}

/// The type in which a normalization is computed: stash_type, but never narrower than the input.
Result<DataType> stash_type(const OpContext& context) {
  const int64_t code = context.get_int("stash_type");
  const auto dtype = is_known_data_type(code) ? static_cast<DataType>(code) : DataType::kUndefined;
  if (!is_float(dtype)) return context.invalid("stash_type of a float type expected, {} found", code);
  return bit_width(context.dtype(0)) > bit_width(dtype) ? context.dtype(0) : dtype;
}

Result<std::vector<ValueType>> infer_group(const OpContext& context) {
  TRY_VOID(require_rank(context, 2));
  TRY_VOID(stash_type(context));
  const int64_t groups = context.get_int("num_groups");
  const Dim& channels = context.dim(0, 1);
  if (groups < 1 || (channels.is_constant() && channels.value() % groups != 0))
    return context.invalid("num_groups that divides {} channels expected, {} found", channels.text(), groups);
  for (int i = 1; i <= 2; ++i) TRY_VOID(expect_shape(context, i, {channels}));
  return same_as_first(context);
}

Result<te::Program> compute_group(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0);
  TRY(const DataType wide, stash_type(context));
  const Dim groups = context.get_int("num_groups");
  const Dim per_group = floor_div(x[1], groups);
  const Shape reduced = concatenated({per_group}, tail_of(x, 2));
  std::vector<te::Expr> index = joined({te::axis(0)}, reduce_axes(reduced.size()));
  index[1] = te::axis(1) * per_group.expr() + index[1];
  te::Program program;
  const Moments statistics = moments(program, {x[0], groups}, reduced, te::cast(wide, context.load(0, index)));
  const te::Expr group = te::floor_div(te::axis(1), per_group.expr());
  const te::Expr normal = te::cast(dtype, standardized(context, program, statistics, group));
  program.outputs = {program.map(x, normal * context.load(1, {te::axis(1)}) + context.load(2, {te::axis(1)}))};
  return program;
}

Result<ValueId> emit_reshape(NodeForm& form, ValueId value, std::vector<int64_t> shape) {
  return form.emit("Reshape", {value, form.ints(std::move(shape), "shape")});
}

/// Scale and bias of opset 18 have one element a group: repeated for each channel of it.
Result<void> repeat_for_channels(NodeForm& form) {
  const auto* groups =
      form.has("num_groups") ? std::get_if<int64_t>(&form.node().attributes.at("num_groups")) : nullptr;
  const bool known = form.has_rank(0) && form.rank(0) >= 2 && (*form.type(0).shape)[1].is_constant();
  if (!groups || *groups < 1 || !known) return form.unsupported("a known number of channels expected");
  const int64_t per_group = (*form.type(0).shape)[1].value() / *groups;
  for (const int i : {1, 2}) {
    TRY(const ValueId column, emit_reshape(form, form.input(i), {-1, 1}));
    TRY(const ValueId repeated, form.emit("Expand", {column, form.ints({1, per_group}, "shape")}));
    TRY(const ValueId vector, emit_reshape(form, repeated, {-1}));
    form.set_input(i, vector);
  }
  return {};
}

/// x standardized over `axes`, by primitives in the spelling that exporters use: (x - mean) / sqrt(mean((x - mean)^2) +
/// epsilon).
struct Standardized {
  ValueId mean, deviation, value;
};
Result<Standardized> emit_standardized(NodeForm& form, ValueId x, std::vector<int64_t> axes, float eps) {
  const DataType dtype = form.graph().value(x).type.dtype;
  const Attributes keep = {{"keepdims", int64_t{1}}};
  const ValueId over = form.ints(std::move(axes), "axes");
  TRY(const ValueId mean, form.emit("ReduceMean", {x, over}, keep));
  TRY(const ValueId centered, form.emit("Sub", {x, mean}));
  TRY(const ValueId square, form.emit("Pow", {centered, form.scalar(dtype, 2, "exponent")}));
  TRY(const ValueId variance, form.emit("ReduceMean", {square, over}, keep));
  TRY(const ValueId shifted, form.emit("Add", {variance, form.scalar(dtype, eps, "epsilon")}));
  TRY(const ValueId deviation, form.emit("Sqrt", {shifted}));
  TRY(const ValueId value, form.emit("Div", {centered, deviation}));
  return Standardized{mean, deviation, value};
}

Result<ValueId> emit_cast(NodeForm& form, ValueId value, DataType dtype) {
  if (form.graph().value(value).type.dtype == dtype) return value;
  return form.emit("Cast", {value}, {{"to", static_cast<int64_t>(dtype)}});
}

/// The type in which the expansion computes: as stash_type(context).
Result<DataType> take_stash_type(NodeForm& form) {
  TRY(const auto code, form.take_int("stash_type"));
  const auto stash = static_cast<DataType>(code.value_or(static_cast<int64_t>(DataType::kFloat32)));
  return bit_width(form.type(0).dtype) > bit_width(stash) ? form.type(0).dtype : stash;
}

Result<void> expand_group(NodeForm& form) {
  TRY(const auto groups, form.take_int("num_groups"));
  TRY(const auto eps, form.take_float("epsilon"));
  TRY(const DataType wide, take_stash_type(form));
  if (!form.has_rank(0)) return form.unsupported("a known rank expected");
  const DataType dtype = form.type(0).dtype;
  TRY(const ValueId x, emit_cast(form, form.input(0), wide));
  TRY(const ValueId grouped, emit_reshape(form, x, {0, groups.value_or(1), -1}));
  TRY(const Standardized normal, emit_standardized(form, grouped, {2}, eps.value_or(kEpsilon)));
  TRY(const ValueId shape, form.emit("Shape", {form.input(0)}));
  TRY(const ValueId restored, form.emit("Reshape", {normal.value, shape}));
  TRY(const ValueId narrow, emit_cast(form, restored, dtype));
  std::vector<int64_t> per_channel(form.rank(0) - 1, 1);
  per_channel[0] = -1;
  TRY(const ValueId scale, emit_reshape(form, form.input(1), per_channel));
  TRY(const ValueId bias, emit_reshape(form, form.input(2), per_channel));
  TRY(const ValueId scaled, form.emit("Mul", {narrow, scale}));
  return form.emit_as(0, "Add", {scaled, bias});
}

// LayerNormalization: over the axes from `axis` on.

struct Layer {
  int axis;
  DataType wide;   ///< in which the statistics are computed
  DataType stash;  ///< of Mean and InvStdDev
  Shape kept, reduced;
  Shape statistics;  ///< kept, and 1 for each reduced axis
};

Result<Layer> layer_of(const OpContext& context) {
  const Shape& x = context.shape(0);
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(const DataType wide, stash_type(context));
  Layer layer{axis,
              wide,
              static_cast<DataType>(context.get_int("stash_type")),
              Shape(x.begin(), x.begin() + axis),
              tail_of(x, static_cast<size_t>(axis)),
              {}};
  layer.statistics = concatenated(layer.kept, Shape(layer.reduced.size(), 1));
  for (const int i : {1, 2}) {
    if (!context.has_input(i)) continue;
    TRY(const Shape shape, broadcast(context, x, context.shape(i)));
    if (shape.size() != x.size())
      return context.invalid("{} that broadcasts to {} expected, {} found", context.op().inputs[i].name, text(x),
                             text(context.shape(i)));
  }
  return layer;
}

Result<std::vector<ValueType>> infer_layer(const OpContext& context) {
  TRY(const Layer layer, layer_of(context));
  const ValueType statistics = ValueType::tensor(layer.stash, layer.statistics);
  return std::vector{ValueType::tensor(context.dtype(0), context.shape(0)), statistics, statistics};
}

Result<te::Program> compute_layer(const OpContext& context) {
  TRY(const Layer layer, layer_of(context));
  const Shape& x = context.shape(0);
  te::Program program;
  const int kept = static_cast<int>(layer.kept.size());
  const Moments statistics =
      moments(program, layer.kept, layer.reduced,
              te::cast(layer.wide, context.load(0, joined(te::axes(kept), reduce_axes(layer.reduced.size())))));
  const te::Expr mean = program.load(statistics.mean, te::axes(kept));
  const te::Expr inverse = te::literal(1, layer.wide) /
                           te::sqrt(program.load(statistics.variance, te::axes(kept)) + epsilon(context, layer.wide));
  const te::Expr value = te::cast(layer.wide, context.load(0, te::axes(context.rank(0))));
  te::Expr result = te::cast(context.dtype(0), (value - mean) * inverse) * context.load_broadcast(1, x);
  if (context.has_input(2)) result = result + context.load_broadcast(2, x);
  program.outputs.resize(3);
  program.outputs[0] = program.map(x, result);
  if (context.wants_output(1)) program.outputs[1] = program.map(layer.statistics, te::cast(layer.stash, mean));
  if (context.wants_output(2)) program.outputs[2] = program.map(layer.statistics, te::cast(layer.stash, inverse));
  return program;
}

/// The axes from `axis` on, counted from behind.
std::vector<int64_t> trailing_axes(int64_t axis, int rank) {
  std::vector<int64_t> axes;
  for (int64_t k = axis < 0 ? axis : axis - rank; k < 0; ++k) axes.push_back(k);
  return axes;
}

Result<void> expand_layer(NodeForm& form) {
  if (!form.has_rank(0)) return form.unsupported("a known rank expected");
  TRY(const auto axis, form.take_int("axis"));
  TRY(const auto eps, form.take_float("epsilon"));
  const auto stash = form.has("stash_type")
                         ? static_cast<DataType>(std::get<int64_t>(form.node().attributes.at("stash_type")))
                         : DataType::kFloat32;
  TRY(const DataType wide, take_stash_type(form));
  const DataType dtype = form.type(0).dtype;
  TRY(const ValueId x, emit_cast(form, form.input(0), wide));
  TRY(const Standardized normal,
      emit_standardized(form, x, trailing_axes(axis.value_or(-1), form.rank(0)), eps.value_or(kEpsilon)));
  if (form.has_output(1)) TRY_VOID(form.emit_as(1, "Cast", {normal.mean}, {{"to", static_cast<int64_t>(stash)}}));
  if (form.has_output(2)) {
    TRY(const ValueId inverse, form.emit("Reciprocal", {normal.deviation}));
    TRY_VOID(form.emit_as(2, "Cast", {inverse}, {{"to", static_cast<int64_t>(stash)}}));
  }
  TRY(const ValueId narrow, emit_cast(form, normal.value, dtype));
  if (!form.has_input(2)) return form.emit_as(0, "Mul", {narrow, form.input(1)});
  TRY(const ValueId scaled, form.emit("Mul", {narrow, form.input(1)}));
  return form.emit_as(0, "Add", {scaled, form.input(2)});
}

/// The tail of the axes that a ReduceMean with keepdims goes over, as LayerNormalization's axis (negative).
std::optional<int64_t> trailing_axis(const Pattern& pattern, const Graph& graph, const Node* mean) {
  if (!mean || mean->inputs.size() < 2 || !graph.value(mean->inputs[0]).type.has_shape()) return std::nullopt;
  const auto keep = mean->attributes.find("keepdims");
  const auto axes = pattern.ints(mean->inputs[1]);
  if ((keep != mean->attributes.end() && std::get<int64_t>(keep->second) != 1) || !axes || axes->empty())
    return std::nullopt;
  const auto rank = static_cast<int64_t>(graph.value(mean->inputs[0]).type.shape->size());
  std::vector<int64_t> sorted;
  for (const int64_t axis : *axes) sorted.push_back(axis < 0 ? axis : axis - rank);
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < sorted.size(); ++k)
    if (sorted[k] != sorted.front() + static_cast<int64_t>(k)) return std::nullopt;
  return sorted.back() == -1 && sorted.front() >= -rank ? std::optional(sorted.front()) : std::nullopt;
}

/// What Div(x - mean, sqrt(mean((x - mean)^2) + epsilon)) standardizes.
struct LayerMatch {
  ValueId x;
  int64_t axis;
  float epsilon;
};
std::optional<LayerMatch> match_standardized(const Pattern& pattern, const Graph& graph, ValueId value) {
  const Node* div = pattern.producer(value, "Div");
  const Node* centered = div ? pattern.producer(div->inputs[0], "Sub") : nullptr;
  const Node* root = div ? pattern.producer(div->inputs[1], "Sqrt") : nullptr;
  const Node* shifted = root ? pattern.producer(root->inputs[0], "Add") : nullptr;
  if (!centered || !shifted) return std::nullopt;
  for (const int side : {0, 1}) {
    const auto eps = pattern.scalar(shifted->inputs[1 - side]);
    const Node* variance = pattern.producer(shifted->inputs[side], "ReduceMean");
    const Node* mean = pattern.producer(centered->inputs[1], "ReduceMean");
    const auto axis = trailing_axis(pattern, graph, mean);
    if (!eps || !axis || trailing_axis(pattern, graph, variance) != axis || mean->inputs[0] != centered->inputs[0])
      continue;
    const Node* power = pattern.producer(variance->inputs[0], "Pow");
    const Node* product = pattern.producer(variance->inputs[0], "Mul");
    // Exporters compute x - mean once for both uses, or twice.
    const auto is_centered = [&](ValueId operand) {
      const Node* sub = pattern.producer(operand, "Sub");
      return sub && sub->inputs == centered->inputs;
    };
    const bool squares = power ? is_centered(power->inputs[0]) && pattern.scalar(power->inputs[1]) == 2.0
                               : product && is_centered(product->inputs[0]) && is_centered(product->inputs[1]);
    if (squares) return LayerMatch{centered->inputs[0], *axis, static_cast<float>(*eps)};
  }
  return std::nullopt;
}

/// What a Cast that makes the value was given, or the value itself.
ValueId before_cast(const Pattern& pattern, ValueId value) {
  const Node* cast = pattern.producer(value, "Cast");
  return cast ? cast->inputs[0] : value;
}

/// Whether a scale or bias has the shape of the axes that x is normalized over.
bool spans_axes(const Graph& graph, ValueId x, int64_t axis, ValueId parameter) {
  const ValueType &data = graph.value(x).type, &type = graph.value(parameter).type;
  if (!data.has_shape() || !type.has_shape() || data.dtype != type.dtype) return false;
  const Shape tail(data.shape->end() + axis, data.shape->end());
  return *type.shape == tail;
}

/// Mul(standardized, scale), and Add(that, bias). Narrow floats are standardized in float32, between casts.
std::optional<Node> recognize_layer(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const auto propose = [&](const Node* scaled, ValueId bias) -> std::optional<Node> {
    for (const int side : {0, 1}) {
      if (!scaled) continue;
      const ValueId narrow = scaled->inputs[side], scale = scaled->inputs[1 - side];
      const ValueId normal = before_cast(pattern, narrow);
      const auto match = match_standardized(pattern, graph, normal);
      if (!match) continue;
      const ValueId x = normal == narrow ? match->x : before_cast(pattern, match->x);
      const bool fits = accumulator(graph.value(x).type.dtype) == graph.value(match->x).type.dtype &&
                        spans_axes(graph, x, match->axis, scale) &&
                        (!bias.valid() || spans_axes(graph, x, match->axis, bias));
      if (!fits) continue;
      std::vector<ValueId> inputs = {x, scale};
      if (bias.valid()) inputs.push_back(bias);
      return pattern.make("LayerNormalization", std::move(inputs),
                          {{"axis", match->axis}, {"epsilon", match->epsilon}});
    }
    return std::nullopt;
  };
  if (const Node* add = pattern.node(root, "Add"))
    for (const int side : {0, 1})
      if (auto node = propose(pattern.producer(add->inputs[side], "Mul"), add->inputs[1 - side])) return node;
  return propose(pattern.node(root, "Mul"), {});
}

// RMSNormalization: LayerNormalization about zero instead of the mean.

struct RootMeanSquare {
  DataType wide;  ///< in which the mean is computed
  Shape kept, reduced;
};

Result<RootMeanSquare> root_mean_square_of(const OpContext& context) {
  const Shape& x = context.shape(0);
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(const DataType wide, stash_type(context));
  TRY(const Shape shape, broadcast(context, x, context.shape(1)));
  if (shape.size() != x.size())
    return context.invalid("a scale that broadcasts to {} expected, {} found", text(x), text(context.shape(1)));
  return RootMeanSquare{wide, Shape(x.begin(), x.begin() + axis), tail_of(x, static_cast<size_t>(axis))};
}

Result<std::vector<ValueType>> infer_root_mean_square(const OpContext& context) {
  TRY_VOID(root_mean_square_of(context));
  return std::vector{ValueType::tensor(context.dtype(1), context.shape(0))};
}

Result<te::Program> compute_root_mean_square(const OpContext& context) {
  TRY(const RootMeanSquare norm, root_mean_square_of(context));
  const Shape& x = context.shape(0);
  te::Program program;
  const int kept = static_cast<int>(norm.kept.size());
  const te::Expr element =
      te::cast(norm.wide, context.load(0, joined(te::axes(kept), reduce_axes(norm.reduced.size()))));
  const te::StageValue sum = sum_over(program, norm.kept, norm.reduced, element * element);
  const te::Expr mean = program.load(sum, te::axes(kept)) / count_as(norm.wide, element_count(norm.reduced).expr());
  const te::StageValue root = program.map(norm.kept, te::sqrt(mean + epsilon(context, norm.wide)));
  const te::Expr value =
      te::cast(norm.wide, context.load(0, te::axes(context.rank(0)))) / program.load(root, te::axes(kept));
  program.outputs = {program.map(x, te::cast(context.dtype(1), value) * context.load_broadcast(1, x))};
  return program;
}

Result<void> expand_root_mean_square(NodeForm& form) {
  if (!form.has_rank(0)) return form.unsupported("a known rank expected");
  TRY(const auto axis, form.take_int("axis"));
  TRY(const auto eps, form.take_float("epsilon"));
  TRY(const DataType wide, take_stash_type(form));
  const Attributes keep = {{"keepdims", int64_t{1}}};
  TRY(const ValueId x, emit_cast(form, form.input(0), wide));
  TRY(const ValueId square, form.emit("Pow", {x, form.scalar(wide, 2, "exponent")}));
  const ValueId over = form.ints(trailing_axes(axis.value_or(-1), form.rank(0)), "axes");
  TRY(const ValueId mean, form.emit("ReduceMean", {square, over}, keep));
  TRY(const ValueId shifted, form.emit("Add", {mean, form.scalar(wide, eps.value_or(kEpsilon), "epsilon")}));
  TRY(const ValueId root, form.emit("Sqrt", {shifted}));
  TRY(const ValueId value, form.emit("Div", {x, root}));
  TRY(const ValueId narrow, emit_cast(form, value, form.type(1).dtype));
  return form.emit_as(0, "Mul", {narrow, form.input(1)});
}

/// Sqrt(mean(x^2) + epsilon).
std::optional<LayerMatch> match_root_mean_square(const Pattern& pattern, const Graph& graph, ValueId value) {
  const Node* root = pattern.producer(value, "Sqrt");
  const Node* shifted = root ? pattern.producer(root->inputs[0], "Add") : nullptr;
  if (!shifted) return std::nullopt;
  for (const int side : {0, 1}) {
    const auto eps = pattern.scalar(shifted->inputs[1 - side]);
    const Node* mean = pattern.producer(shifted->inputs[side], "ReduceMean");
    const auto axis = trailing_axis(pattern, graph, mean);
    if (!eps || !axis) continue;
    const Node* power = pattern.producer(mean->inputs[0], "Pow");
    const Node* product = pattern.producer(mean->inputs[0], "Mul");
    const bool squares =
        power ? pattern.scalar(power->inputs[1]) == 2.0 : product && product->inputs[0] == product->inputs[1];
    if (squares) return LayerMatch{(power ? power : product)->inputs[0], *axis, static_cast<float>(*eps)};
  }
  return std::nullopt;
}

/// x / r, or x times one over r (as exporters write it), where r is the root of the mean square of x.
std::optional<LayerMatch> match_scaled_to_one(const Pattern& pattern, const Graph& graph, ValueId value) {
  if (const Node* div = pattern.producer(value, "Div")) {
    const auto match = match_root_mean_square(pattern, graph, div->inputs[1]);
    return match && match->x == div->inputs[0] ? match : std::nullopt;
  }
  const Node* product = pattern.producer(value, "Mul");
  if (!product) return std::nullopt;
  for (const int side : {0, 1}) {
    const Node* reciprocal = pattern.producer(product->inputs[side], "Reciprocal");
    const Node* div = pattern.producer(product->inputs[side], "Div");
    const bool inverts = div && pattern.scalar(div->inputs[0]) == 1.0;
    if (!reciprocal && !inverts) continue;
    const auto match = match_root_mean_square(pattern, graph, reciprocal ? reciprocal->inputs[0] : div->inputs[1]);
    if (match && match->x == product->inputs[1 - side]) return match;
  }
  return std::nullopt;
}

/// Mul(what has a root mean square of one, scale). Narrow floats are normalized in float32, between casts.
std::optional<Node> recognize_root_mean_square(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* scaled = pattern.node(root, "Mul");
  if (!scaled) return std::nullopt;
  for (const int side : {0, 1}) {
    const ValueId narrow = scaled->inputs[side], scale = scaled->inputs[1 - side];
    const ValueId normal = before_cast(pattern, narrow);
    const auto match = match_scaled_to_one(pattern, graph, normal);
    if (!match) continue;
    const ValueId x = normal == narrow ? match->x : before_cast(pattern, match->x);
    if (accumulator(graph.value(x).type.dtype) == graph.value(match->x).type.dtype &&
        spans_axes(graph, x, match->axis, scale))
      return pattern.make("RMSNormalization", {x, scale}, {{"axis", match->axis}, {"epsilon", match->epsilon}});
  }
  return std::nullopt;
}

// MeanVarianceNormalization: over `axes`, epsilon added to the deviation.

constexpr double kVarianceGuard = 1e-9;

Result<std::vector<ValueType>> infer_mean_variance(const OpContext& context) {
  TRY_VOID(context.normalize_axes(context.get_ints("axes"), context.rank(0)));
  return same_as_first(context);
}

/// Position of each axis of a tensor among kept axes (axis(…)) and reduced ones (reduce_axis(…)).
struct Split {
  Shape kept, reduced;
  std::vector<te::Expr> index;    ///< over kept and reduced iterators
  std::vector<te::Expr> kept_at;  ///< the kept axes among axis(…) of the whole tensor
};
Split split_axes(const Shape& shape, const std::vector<int>& axes) {
  Split split;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(k)) != axes.end();
    Shape& side = reduced ? split.reduced : split.kept;
    const int position = static_cast<int>(side.size());
    split.index.push_back(reduced ? te::reduce_axis(position) : te::axis(position));
    side.push_back(shape[k]);
    if (!reduced) split.kept_at.push_back(te::axis(static_cast<int>(k)));
  }
  return split;
}

Result<te::Program> compute_mean_variance(const OpContext& context) {
  TRY(const std::vector<int> axes, context.normalize_axes(context.get_ints("axes"), context.rank(0)));
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Split split = split_axes(x, axes);
  te::Program program;
  const Moments statistics = moments(program, split.kept, split.reduced, te::cast(wide, context.load(0, split.index)));
  const te::Expr centered =
      te::cast(wide, context.load(0, te::axes(context.rank(0)))) - program.load(statistics.mean, split.kept_at);
  const te::Expr deviation = te::sqrt(program.load(statistics.variance, split.kept_at));
  program.outputs = {
      program.map(x, te::cast(dtype, centered / (deviation + te::Number(static_cast<float>(kVarianceGuard)))))};
  return program;
}

// LRN: x / (bias + alpha / size * Σ x²)^beta over the `size` channels around.

Result<std::vector<ValueType>> infer_lrn(const OpContext& context) {
  TRY_VOID(require_rank(context, 2));
  const int64_t size = context.get_int("size");
  if (size < 1 || size > (int64_t{1} << 24)) return context.invalid("size in [1, 2^24] expected, {} found", size);
  return same_as_first(context);
}

Result<te::Program> compute_lrn(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const int64_t size = context.get_int("size");
  std::vector<te::Expr> index = te::axes(context.rank(0));
  index[1] = te::axis(1) + te::reduce_axis(0) - (size - 1) / 2;
  const te::Expr inside = te::index(0) <= index[1] && index[1] < x[1].expr();
  const te::Expr neighbour = te::cast(wide, context.load(0, index));
  te::Program program;
  const te::StageValue sum =
      program.reduce(x, {size}, te::sum(wide), te::select(inside, neighbour * neighbour, te::literal(0, wide)));
  const auto number = [&](std::string_view name) { return te::Number(context.get_float(name)); };
  const std::vector<te::Expr> at = te::axes(context.rank(0));
  const te::Expr base = program.load(sum, at) * number("alpha") / te::Number(size) + number("bias");
  const te::Expr value = te::cast(wide, context.load(0, at));
  program.outputs = {program.map(x, te::cast(dtype, value / te::pow(base, te::literal(number("beta"), wide))))};
  return program;
}

// LpNormalization: x / ‖x‖ along one axis, p = 1 or 2; a zero vector stays zero.

Result<std::vector<ValueType>> infer_lp(const OpContext& context) {
  const int64_t p = context.get_int("p");
  if (p != 1 && p != 2) return context.invalid("p of 1 or 2 expected, {} found", p);
  TRY_VOID(context.normalize_axis(context.get_int("axis"), context.rank(0)));
  return same_as_first(context);
}

Result<te::Program> compute_lp(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  const bool euclidean = context.get_int("p") == 2;
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Split split = split_axes(context.shape(0), {axis});
  te::Program program;
  const te::Expr x = te::cast(wide, context.load(0, split.index));
  const te::StageValue sum = program.reduce(split.kept, split.reduced, te::sum(wide), euclidean ? x * x : te::abs(x));
  const te::Expr total = program.load(sum, split.kept_at);
  const te::Expr value = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr normal = value / (euclidean ? te::sqrt(total) : total);
  program.outputs = {program.map(context.shape(0), te::cast(dtype, te::select(te::equal(total, 0), value, normal)))};
  return program;
}

}  // namespace

std::vector<OpDef> normalization() {
  return {
      {.name = "BatchNormalization",
       .since = 15,
       .inputs = {"X", "scale:T1", "B:T1", "input_mean:T2", "input_var:T2"},
       .outputs = {"Y", "running_mean?:T2", "running_var?:T2"},
       .types = {{"T", kFloats}, {"T1", kFloats}, {"T2", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon), with_default("momentum", 0.9f),
                      with_default("training_mode", 0)},
       .versions = {{14},
                    {9, require_inference, without(9, {"training_mode"}).from_newest},
                    {7, lift_spatial, without(7, {"training_mode"}).from_newest},
                    {6, lift_is_test, lower_is_test},
                    {1, lift_is_test, lower_consumed_inputs}},
       .infer = infer_batch,
       .compute = compute_batch,
       // A scale and a shift of each channel: what it makes of ones, unshifted, and of zeros.
       .axioms = {{"BatchNormalization(x,s,b,m,v){..p} = "
                   "Add(Mul(x,BatchNormalization(Expand(1){shape=[1,s_0]},s,Expand(0){shape=[s_0]},Expand(0){shape=[s_"
                   "0]},v){..p}),BatchNormalization(Expand(0){shape=[1,s_0]},s,b,m,v){..p}) if x_rank == 2 && s_rank "
                   "== 1 && b_rank == 1 && m_rank == 1 && v_rank == 1",
                   "ranked", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = "
                   "Add(Mul(x,BatchNormalization(Expand(1){shape=[1,s_0,1]},s,Expand(0){shape=[s_0]},Expand(0){shape=["
                   "s_0]},v){..p}),BatchNormalization(Expand(0){shape=[1,s_0,1]},s,b,m,v){..p}) if x_rank == 3 && "
                   "s_rank == 1 && b_rank == 1 && m_rank == 1 && v_rank == 1",
                   "images", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = "
                   "Add(Mul(x,BatchNormalization(Expand(1){shape=[1,s_0,1,1]},s,Expand(0){shape=[s_0]},Expand(0){shape="
                   "[s_0]},v){..p}),BatchNormalization(Expand(0){shape=[1,s_0,1,1]},s,b,m,v){..p}) if x_rank == 4 && "
                   "s_rank == 1 && b_rank == 1 && m_rank == 1 && v_rank == 1",
                   "images", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = "
                   "Add(Mul(x,BatchNormalization(Expand(1){shape=[1,s_0,1,1,1]},s,Expand(0){shape=[s_0]},Expand(0){"
                   "shape=[s_0]},v){..p}),BatchNormalization(Expand(0){shape=[1,s_0,1,1,1]},s,b,m,v){..p}) if x_rank "
                   "== 5 && s_rank == 1 && b_rank == 1 && m_rank == 1 && v_rank == 1",
                   "images", FloatClass::kReassociated}}},

      {.name = "InstanceNormalization",
       .since = 22,
       .inputs = {"input", "scale", "B"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon)},
       .versions = {{6}, {1, drop_consumed_inputs}},
       .infer = infer_instance,
       .compute = compute_instance},

      {.name = "GroupNormalization",
       .since = 21,
       .inputs = {"X", "scale", "bias"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon), required("num_groups", AttributeKind::kInt),
                      with_default("stash_type", 1)},
       .versions = {{18, repeat_for_channels, expand_group}},
       .infer = infer_group,
       .compute = compute_group,
       .expand = expand_group},

      {.name = "LayerNormalization",
       .since = 17,
       .inputs = {"X", "Scale", "B?"},
       .outputs = {"Y", "Mean?:U", "InvStdDev?:U"},
       .types = {{"T", kFloats}, {"U", DataType::kFloat32 | DataType::kBFloat16}},
       .attributes = {with_default("axis", -1), with_default("epsilon", kEpsilon), with_default("stash_type", 1)},
       .infer = infer_layer,
       .compute = compute_layer,
       .expand = expand_layer,
       .recognize = recognize_layer,
       .axioms = {{"LayerNormalization(x,s,b){axis=-1} = Add(LayerNormalization(x,s){axis=-1},b) if s_rank == 1 && "
                   "b_rank == 1",
                   "ranked", FloatClass::kReassociated},
                  {"LayerNormalization(x,s){axis=-1} = Mul(LayerNormalization(x,Expand(1){shape=[s_0]}){axis=-1},s) if "
                   "s_rank == 1",
                   "ranked", FloatClass::kReassociated}}},

      {.name = "RMSNormalization",
       .since = 23,
       .inputs = {"X", "scale:V"},
       .outputs = {"Y:V"},
       .types = {{"T", kFloats}, {"V", kFloats}},
       .attributes = {with_default("axis", -1), with_default("epsilon", kEpsilon), with_default("stash_type", 1)},
       .infer = infer_root_mean_square,
       .compute = compute_root_mean_square,
       .expand = expand_root_mean_square,
       .recognize = recognize_root_mean_square},

      {.name = "MeanVarianceNormalization",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axes", std::vector<int64_t>{0, 2, 3})},
       .versions = {{9}},
       .infer = infer_mean_variance,
       .compute = compute_mean_variance},

      {.name = "LRN",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1e-4f), with_default("beta", 0.75f), with_default("bias", 1.0f),
                      required("size", AttributeKind::kInt)},
       .versions = {{1}},
       .infer = infer_lrn,
       .compute = compute_lrn},

      {.name = "LpNormalization",
       .since = 22,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axis", -1), with_default("p", 2)},
       .versions = {{1}},
       .infer = infer_lp,
       .compute = compute_lp},
  };
}

}  // namespace isomer::ops
