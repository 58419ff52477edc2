// Relu LeakyRelu PRelu Elu Selu Celu ThresholdedRelu Shrink Clip: activations with a kink.
#include <limits>
#include <optional>

#include "graph/ops/common.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

Expr leaky(const OpContext& context, Expr x) { return te::select(x < 0, x * Number(context.get_float("alpha")), x); }

Expr elu(const OpContext& context, Expr x) {
  return te::select(x < 0, (te::exp(x) - 1) * Number(context.get_float("alpha")), x);
}

Expr selu(const OpContext& context, Expr x) {
  const Number alpha(context.get_float("alpha")), gamma(context.get_float("gamma"));
  return te::select(0 < x, x, (te::exp(x) - 1) * alpha) * gamma;
}

Expr celu(const OpContext& context, Expr x) {
  const Number alpha(context.get_float("alpha"));
  return te::max(x, 0) + te::min((te::exp(x / alpha) - 1) * alpha, 0);
}

Result<std::vector<ValueType>> infer_celu(const OpContext& context) {
  if (context.get_float("alpha") == 0) return context.unsupported("alpha is 0");
  return same_as_first(context);
}

Expr thresholded(const OpContext& context, Expr x) {
  return te::select(Number(context.get_float("alpha")) < x, x, te::literal(0, x.dtype()));
}

/// The attributes are floats whatever the element type.
Expr shrink(const OpContext& context, Expr x) {
  const DataType dtype = x.dtype();
  if (!is_float(dtype)) x = te::cast(DataType::kFloat64, x);
  const Number bias(context.get_float("bias")), lambd(context.get_float("lambd"));
  const Expr above = te::select(lambd < x, x - bias, te::literal(0, x.dtype()));
  return te::cast(dtype, te::select(x < lambd.negated(), x + bias, above));
}

Result<std::vector<ValueType>> infer_prelu(const OpContext& context) {
  TRY(const Shape shape, broadcast(context, context.shape(0), context.shape(1)));
  bool fits = shape.size() == context.shape(0).size();
  for (size_t k = 0; fits && k < shape.size(); ++k)
    fits = shape[k] == context.shape(0)[k] || !shape[k].is_constant() || !context.shape(0)[k].is_constant();
  if (!fits)
    return context.invalid("slope that broadcasts to X of shape {} expected, {} found", text(context.shape(0)),
                           text(context.shape(1)));
  return same_as_first(context);
}

Result<te::Program> compute_prelu(const OpContext& context) {
  const Shape& shape = context.shape(0);
  const Expr x = context.load_broadcast(0, shape), slope = context.load_broadcast(1, shape);
  return single_map(shape, te::select(x < 0, slope * x, x));
}

/// Up to opset 6 a slope of more than one element belongs to the channels of X.
Version slope_of_channels(int since) {
  return {since,
          [](NodeForm& form) -> Result<void> {
            TRY_VOID(drop_consumed_inputs(form));
            if (!form.has_rank(0) || !form.has_rank(1)) return form.unsupported("known ranks expected");
            if (form.rank(1) != 1 || form.rank(0) <= 2 || (*form.type(1).shape)[0].is(1)) return {};
            std::vector<int64_t> axes;
            for (int k = 1; k < form.rank(0) - 1; ++k) axes.push_back(k);
            TRY(const ValueId aligned, form.emit("Unsqueeze", {form.input(1), form.ints(std::move(axes), "axes")}));
            form.set_input(1, aligned);
            return {};
          },
          [](NodeForm& form) -> Result<void> {
            if (!form.has_rank(0) || !form.has_rank(1)) return form.unsupported("known ranks expected");
            const Shape& slope = *form.type(1).shape;
            const int channel = form.rank(1) - (form.rank(0) - 1);
            for (int k = 0; k < form.rank(1); ++k)
              if (k != channel && !slope[k].is(1)) return form.unsupported("a slope of channels expected");
            if (form.rank(1) == 1) return {};
            TRY(const ValueId flat, form.emit("Reshape", {form.input(1), form.ints({-1}, "shape")}));
            form.set_input(1, flat);
            return {};
          }};
}

/// Opset 1 had these defaults, with fewer digits.
Result<void> rounded_selu_defaults(NodeForm& form) {
  TRY_VOID(drop_consumed_inputs(form));
  if (!form.has("alpha")) form.set("alpha", 1.6732f);
  if (!form.has("gamma")) form.set("gamma", 1.0507f);
  return {};
}

Result<std::vector<ValueType>> infer_clip(const OpContext& context) {
  for (const int i : {1, 2})
    if (context.has_input(i))
      if (const Dim count = element_count(context.shape(i)); count.is_constant() && !count.is(1))
        return context.invalid("{} with one element expected, {} found", context.input_name(i), text(context.shape(i)));
  return same_as_first(context);
}

/// The greatest finite number of a float type.
std::optional<double> most_finite(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 0x1.FFCp15;
    case DataType::kBFloat16: return 0x1.FEp127;
    case DataType::kFloat32: return std::numeric_limits<float>::max();
    case DataType::kFloat64: return std::numeric_limits<double>::max();
    default: return std::nullopt;
  }
}

/// A bound that is left out is the last finite number, beyond which infinities are.
Result<te::Program> compute_clip(const OpContext& context) {
  Expr value = context.load_broadcast(0, context.shape(0));
  const auto most = most_finite(value.dtype());
  const auto bound = [&](int i) -> Expr {
    if (context.has_input(i)) return context.load(i, std::vector<Expr>(context.rank(i), te::index(0)));
    return most ? te::literal(Number(i == 1 ? -*most : *most), value.dtype()) : Expr();
  };
  const Expr least = bound(1), greatest = bound(2);
  if (least) value = te::max(value, least);
  if (greatest) value = te::min(value, greatest);
  return single_map(context.shape(0), value);
}

/// Up to opset 6 the bounds are attributes.
Version bounds_as_attributes(int since) {
  return {since,
          [](NodeForm& form) -> Result<void> {
            TRY_VOID(drop_consumed_inputs(form));
            TRY(const auto least, form.take_float("min"));
            TRY(const auto most, form.take_float("max"));
            if (!least && !most) return {};
            if (!form.type(0).is_tensor() || !is_float(form.type(0).dtype))
              return form.unsupported("a known float type expected");
            const DataType dtype = form.type(0).dtype;
            if (least) form.set_input(1, form.scalar(dtype, *least, "min"));
            if (most) form.set_input(2, form.scalar(dtype, *most, "max"));
            return {};
          },
          [](NodeForm& form) -> Result<void> {
            for (const int i : {1, 2}) {
              if (!form.has_input(i)) continue;
              const Tensor* bound = form.constant(i);
              if (!bound || bound->count() != 1 || !is_float(bound->dtype()))
                return form.unsupported("constant float bounds expected where the opset has them as attributes");
              form.set(i == 1 ? "min" : "max", static_cast<float>(bound->real(0)));
            }
            form.drop_inputs_from(1);
            return {};
          }};
}

Result<void> expand_clip(NodeForm& form) {
  for (const int i : {1, 2})
    if (form.has_input(i) && (!form.has_rank(i) || form.rank(i) != 0))
      return form.unsupported("scalar bounds expected");
  if (!form.type(0).is_tensor()) return form.unsupported("a known element type expected");
  const DataType dtype = form.type(0).dtype;
  const auto most = most_finite(dtype);
  const auto bound = [&](int i, const char* name) {
    if (form.has_input(i) || !most) return form.input(i);
    return form.scalar(dtype, i == 1 ? -*most : *most, name);
  };
  const ValueId least = bound(1, "min"), greatest = bound(2, "max");
  if (!greatest.valid())
    return least.valid() ? form.emit_as(0, "Max", {form.input(0), least})
                         : form.emit_as(0, "Identity", {form.input(0)});
  ValueId value = form.input(0);
  if (least.valid()) {
    TRY(value, form.emit("Max", {value, least}));
  }
  return form.emit_as(0, "Min", {value, greatest});
}

/// Which operand of a binary Min or Max is a scalar bound of the other; -1 if none.
int bound_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return -1;
  const auto is_scalar = [&](ValueId id) {
    return graph.value(id).type.has_shape() && graph.value(id).type.shape->empty();
  };
  for (const int i : {1, 0})
    if (is_scalar(node.inputs[i]) && graph.is_constant(node.inputs[i])) return i;
  for (const int i : {1, 0})
    if (is_scalar(node.inputs[i])) return i;
  return -1;
}

/// Where it is the last finite number it need not be said.
bool is_left_out(const Tensor* bound, int sign) {
  const auto most = bound ? most_finite(bound->dtype()) : std::nullopt;
  return most && bound->count() == 1 && bound->real(0) == sign * *most;
}

std::optional<Node> recognize_clip(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const auto clip = [&](ValueId value, ValueId least, ValueId greatest) {
    if (least.valid() && is_left_out(pattern.constant(least), -1)) least = {};
    if (greatest.valid() && is_left_out(pattern.constant(greatest), 1)) greatest = {};
    std::vector<ValueId> inputs = {value, least, greatest};
    while (!inputs.back().valid()) inputs.pop_back();
    return pattern.make("Clip", std::move(inputs));
  };
  if (const Node* most = pattern.node(root, "Min")) {
    const int upper = bound_of(graph, *most);
    if (upper < 0) return std::nullopt;
    const ValueId value = most->inputs[1 - upper];
    const Node* least = pattern.producer(value, "Max");
    const int lower = least && pattern.used_once(value) ? bound_of(graph, *least) : -1;
    if (lower < 0) return clip(value, {}, most->inputs[upper]);
    return clip(least->inputs[1 - lower], least->inputs[lower], most->inputs[upper]);
  }
  const Node* least = pattern.node(root, "Max");
  const int lower = least ? bound_of(graph, *least) : -1;
  if (lower < 0) return std::nullopt;
  return clip(least->inputs[1 - lower], least->inputs[lower], {});
}

}  // namespace

std::vector<OpDef> activation() {
  const Version opset1 = {1, drop_consumed_inputs};
  return {
      {.name = "Relu",
       .since = 14,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats | kSignedInts}},
       .versions = {{13}, {6}, opset1},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return te::max(x, 0); }),
       .axioms = {{"Relu(a) = Max(a,0)", "equal", FloatClass::kSignOfZero},
                  {"Sub(Relu(a),Relu(Neg(a))) = a", "equal of floats", FloatClass::kFinite},
                  {"Relu(Relu(a)) = Relu(a)", "equal"},
                  {"Mul(Relu(a),a) = Mul(Relu(a),Relu(a))", "equal", FloatClass::kFinite},
                  {"Relu(Max(a,b)) = Max(Relu(a),b)", "broadcast", FloatClass::kSignOfZero},
                  {"Relu(Mul(a,a)) = Mul(a,a)", "equal of floats"},
                  {"Relu(Abs(a)) = Abs(a)", "equal of floats"}}},

      {.name = "LeakyRelu",
       .since = 16,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 0.01)},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise_with(leaky)},

      {.name = "PRelu",
       .since = 16,
       .inputs = {"X", "slope"},
       .outputs = {"Y"},
       .types = {{"T", kFloats | kIndices | DataType::kUInt32 | DataType::kUInt64}},
       .versions = {{9}, {7}, slope_of_channels(6), slope_of_channels(1)},
       .infer = infer_prelu,
       .compute = compute_prelu},

      {.name = "Elu",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.0)},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise_with(elu)},

      {.name = "Selu",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.67326319217681884765625),
                      with_default("gamma", 1.05070102214813232421875)},
       .versions = {{6}, {1, rounded_selu_defaults}},
       .infer = same_as_first,
       .compute = pointwise_with(selu)},

      {.name = "Celu",
       .since = 12,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.0)},
       .infer = infer_celu,
       .compute = pointwise_with(celu)},

      {.name = "ThresholdedRelu",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.0)},
       .versions = {{10}},
       .infer = same_as_first,
       .compute = pointwise_with(thresholded)},

      {.name = "Shrink",
       .since = 9,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kNumeric}},
       .attributes = {with_default("bias", 0.0), with_default("lambd", 0.5)},
       .infer = same_as_first,
       .compute = pointwise_with(shrink)},

      {.name = "Clip",
       .since = 13,
       .inputs = {"input", "min?", "max?"},
       .outputs = {"output"},
       .types = {{"T", kNumeric}},
       .versions = {{12}, {11}, bounds_as_attributes(6), bounds_as_attributes(1)},
       .infer = infer_clip,
       .compute = compute_clip,
       .expand = expand_clip,
       .recognize = recognize_clip,
       .axioms = {{"Clip(x,a,b) = Min(Max(x,a),b) if a_rank == 0 && b_rank == 0", "broadcast", FloatClass::kFinite}}},
  };
}

}  // namespace isomer::ops
