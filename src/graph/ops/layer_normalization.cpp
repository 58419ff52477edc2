// LayerNormalization RMSNormalization: values scaled by statistics of the last axes.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"
#include "graph/ops/statistics.h"

namespace isomer::ops {
namespace {

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
      return context.invalid("{} that broadcasts to {} expected, {} found", context.input_name(i), text(x),
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

/// What is divided by the root of a mean of squares and an epsilon.
struct OverRoot {
  ValueId value, squares;
  int64_t axis;  ///< from which on the mean is taken, negative
  float epsilon;
};

/// value / sqrt(mean(squares) + epsilon), or value times one over that; in each way in which it may be read.
std::vector<OverRoot> over_roots(const Pattern& pattern, const Graph& graph, ValueId quotient) {
  std::vector<OverRoot> found;
  for (const auto& [value, denominator] : pattern.quotients(quotient)) {
    const Node* root = pattern.producer(denominator, "Sqrt");
    const Node* shifted = root ? pattern.producer(root->inputs[0], "Add") : nullptr;
    for (const int side : {0, 1}) {
      const auto eps = shifted ? pattern.scalar(shifted->inputs[1 - side]) : std::nullopt;
      const Node* mean = eps ? pattern.producer(shifted->inputs[side], "ReduceMean") : nullptr;
      const auto axis = trailing_axis(pattern, graph, mean);
      if (axis) found.push_back({value, mean->inputs[0], *axis, static_cast<float>(*eps)});
    }
  }
  return found;
}

/// The value that this one is the square of; both, where it is a product of two others.
std::optional<std::pair<ValueId, ValueId>> squared(const Pattern& pattern, ValueId value) {
  if (const Node* power = pattern.producer(value, "Pow"))
    return pattern.scalar(power->inputs[1]) == 2.0 ? std::optional(std::pair(power->inputs[0], power->inputs[0]))
                                                   : std::nullopt;
  const Node* product = pattern.producer(value, "Mul");
  return product ? std::optional(std::pair(product->inputs[0], product->inputs[1])) : std::nullopt;
}

/// What (x - mean) / sqrt(mean((x - mean)^2) + epsilon) standardizes.
struct LayerMatch {
  ValueId x;
  int64_t axis;
  float epsilon;
};
std::optional<LayerMatch> match_standardized(const Pattern& pattern, const Graph& graph, ValueId value) {
  for (const OverRoot& over : over_roots(pattern, graph, value)) {
    const Node* centered = pattern.producer(over.value, "Sub");
    const Node* mean = centered ? pattern.producer(centered->inputs[1], "ReduceMean") : nullptr;
    const auto squares = squared(pattern, over.squares);
    if (!squares || trailing_axis(pattern, graph, mean) != over.axis || mean->inputs[0] != centered->inputs[0])
      continue;
    // Exporters compute x - mean once for both uses, or twice.
    const auto is_centered = [&](ValueId operand) {
      const Node* sub = pattern.producer(operand, "Sub");
      return sub && sub->inputs == centered->inputs;
    };
    if (is_centered(squares->first) && is_centered(squares->second))
      return LayerMatch{centered->inputs[0], over.axis, over.epsilon};
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

/// What x / sqrt(mean(x^2) + epsilon) scales to a root mean square of one.
std::optional<LayerMatch> match_scaled_to_one(const Pattern& pattern, const Graph& graph, ValueId value) {
  for (const OverRoot& over : over_roots(pattern, graph, value))
    if (squared(pattern, over.squares) == std::pair(over.value, over.value))
      return LayerMatch{over.value, over.axis, over.epsilon};
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

}  // namespace

std::vector<OpDef> layer_normalization() {
  return {
      {.name = "LayerNormalization",
       .since = 17,
       .inputs = {"X", "Scale", "B?"},
       .outputs = {"Y", "Mean?:U", "InvStdDev?:U"},
       .types = {{"T", kFloats}, {"U", DataType::kFloat32 | DataType::kBFloat16}},
       .attributes = {with_default("axis", -1), with_default("epsilon", kEpsilon), with_default("stash_type", 1)},
       .early = true,
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
  };
}

}  // namespace isomer::ops
