// Pointwise operators, casts, reductions, normalization along axes, quantization.
#include "ops/recipes.h"

#include <algorithm>

namespace isomer::test {
namespace {

/// Inputs that broadcast to one shape, attributes near their defaults.
void plain(Maker& m) {
  const OpDef& op = *m.instance.op;
  const Dims shape = m.dims(0, 4);
  for (const Parameter& input : op.inputs) {
    if (input.arity == Parameter::Arity::kOptional && m.flip()) {
      m.omit();
      continue;
    }
    const int64_t count = input.arity == Parameter::Arity::kVariadic ? m.pick(1, 3) : 1;
    for (int64_t k = 0; k < count; ++k) m.add(m.next_input() == 0 ? shape : broadcastable(m, shape));
  }
  for (const AttributeDef& attribute : op.attributes) {
    if (attribute.kind == AttributeKind::kFloat) m.maybe(attribute.name, static_cast<float>(m.random.uniform(0.1, 1)));
    if (attribute.kind == AttributeKind::kInt) m.maybe(attribute.name, m.pick(0, 1));
  }
}

/// Two inputs, the second never 0.
void with_divisor(Maker& m) {
  const Dims shape = m.dims(0, 4);
  m.add(shape);
  m.add(broadcastable(m, shape), 1, 5);
}

void mod(Maker& m) {
  with_divisor(m);
  m.maybe("fmod", m.pick(0, 1));
}

void power(Maker& m) {
  const Dims shape = m.dims(0, 4);
  m.add(shape, 1, 3);
  m.add(broadcastable(m, shape), 0, 3);
}

void bit_shift(Maker& m) {
  const Dims shape = m.dims(0, 3);
  m.set("direction", m.word({"LEFT", "RIGHT"}));
  m.add(shape, -100, 100);
  m.add(broadcastable(m, shape), -1, 9);
}

void clip(Maker& m) {
  m.add(m.dims(0, 4));
  m.flip() ? m.add({}, -1, 0) : m.omit();
  m.flip() ? m.add({}, 0, 1) : m.omit();
}

void leave_one_axis(Maker& m) {
  m.add(m.dims(1, 4, 1));
  const auto rank = static_cast<int64_t>(m.instance.inputs[0].tensor.dims().size());
  m.maybe("axis", m.pick(-rank, rank - 1));
}

void celu(Maker& m) {
  plain(m);
  m.set("alpha", 1.5f);
}

void gelu(Maker& m) {
  m.add(m.dims(0, 4));
  m.maybe("approximate", m.word({"none", "tanh"}));
}

void is_inf(Maker& m) {
  m.add(m.dims(0, 3));
  m.maybe("detect_negative", m.pick(0, 1));
  m.maybe("detect_positive", m.pick(0, 1));
}

void prelu(Maker& m) {
  const Dims shape = m.dims(1, 4);
  m.add(shape);
  m.add(broadcastable(m, shape));
}

void cast(Maker& m) {
  m.add(m.dims(0, 4), 0, 9);
  m.set("to", static_cast<int64_t>(m.type_of("T2")));
  m.maybe("saturate", m.pick(0, 1));
  m.maybe("round_mode", m.flip() ? std::string("down") : std::string("nearest"));
}

void cast_like(Maker& m) {
  m.add(m.dims(0, 4), 0, 9);
  m.add(m.dims(0, 2));
  m.maybe("saturate", m.pick(0, 1));
  m.maybe("round_mode", m.flip() ? std::string("down") : std::string("nearest"));
}

void dropout(Maker& m) {
  m.add(m.dims(0, 4));
  m.flip() ? m.add({}, 0, 0.9) : m.omit();
  m.flip() ? m.give(Tensor::from_ints(DataType::kBool, {}, std::vector<int64_t>{0}), true) : m.omit();
  m.maybe("seed", m.pick(0, 100));
  if (m.flip()) m.outputs(2);
}

std::vector<int64_t> some_axes(Maker& m, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < rank; ++k)
    if (m.flip()) axes.push_back(m.flip() ? k : k - rank);
  return axes;
}

void reduce(Maker& m) {
  const Dims shape = m.dims(0, 4, m.flip(0.05) ? 0 : 1);
  m.add(shape);
  if (m.flip(0.7)) m.decide(some_axes(m, static_cast<int64_t>(shape.size())));
  m.maybe("keepdims", m.pick(0, 1));
  m.maybe("noop_with_empty_axes", m.pick(0, 1));
}

void arg_extreme(Maker& m) {
  leave_one_axis(m);
  m.maybe("keepdims", m.pick(0, 1));
  m.maybe("select_last_index", m.pick(0, 1));
}

void cumulative(Maker& m) {
  const Dims shape = m.dims(1, 4);
  const auto rank = static_cast<int64_t>(shape.size());
  m.add(shape);
  m.decide_scalar(m.pick(-rank, rank - 1));
  m.maybe("exclusive", m.pick(0, 1));
  m.maybe("reverse", m.pick(0, 1));
}

void batch_normalization(Maker& m) {
  const Dims shape = m.dims(1, 5, 1);
  const int64_t channels = shape.size() > 1 ? shape[1] : 1;
  m.add(shape);
  for (int k = 0; k < 4; ++k) m.add({channels}, k == 3 ? 0.1 : -1, 2);
  m.maybe("epsilon", 0.01f);
  m.maybe("momentum", 0.5f);
  m.maybe("training_mode", int64_t{0});
}

void instance_normalization(Maker& m) {
  const Dims shape = m.dims(3, 5, 1);
  m.add(shape);
  m.add({shape[1]});
  m.add({shape[1]});
  m.maybe("epsilon", 0.01f);
}

void group_normalization(Maker& m) {
  Dims shape = m.dims(2, 5, 1);
  const int64_t groups = m.pick(1, 3);
  shape[1] *= groups;
  m.add(shape);
  m.add({shape[1]});
  m.add({shape[1]});
  m.set("num_groups", groups);
  m.maybe("epsilon", 0.01f);
  m.maybe("stash_type", int64_t{1});
}

void layer_normalization(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = m.pick(-rank, rank - 1);
  const Dims tail(shape.begin() + (axis < 0 ? axis + rank : axis), shape.end());
  m.add(shape);
  m.add(tail);
  m.flip() ? m.add(tail) : m.omit();
  if (axis != -1 || m.flip()) m.set("axis", axis);
  m.maybe("epsilon", 0.01f);
  m.maybe("stash_type", int64_t{1});
  m.outputs(m.one_of<size_t>({1, 2, 3}));
}

void root_mean_square(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = m.pick(-rank, rank - 1);
  m.add(shape);
  m.add(Dims(shape.begin() + (axis < 0 ? axis + rank : axis), shape.end()));
  if (axis != -1 || m.flip()) m.set("axis", axis);
  m.maybe("epsilon", 0.01f);
  m.maybe("stash_type", int64_t{1});
}

void mean_variance(Maker& m) {
  m.add(m.dims(4, 4, 1));
  if (m.flip()) m.set("axes", std::vector<int64_t>{m.pick(0, 1), m.pick(2, 3)});
}

void lrn(Maker& m) {
  m.add(m.dims(2, 5, 1, 5));
  m.set("size", m.pick(1, 4));
  m.maybe("alpha", 0.5f);
  m.maybe("beta", 0.6f);
  m.maybe("bias", 2.0f);
}

void lp_normalization(Maker& m) {
  leave_one_axis(m);
  m.maybe("p", m.pick(1, 2));
}

/// A scale for the whole tensor, or one an element of an axis.
Dims scale_dims(Maker& m, const Dims& shape) {
  if (shape.empty() || m.flip()) return {};
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = m.pick(-rank, rank - 1);
  m.set("axis", axis);
  return {shape[axis < 0 ? axis + rank : axis]};
}

/// A type that scales, quotients and what was quantized may have.
DataType some_real(Maker& m) {
  constexpr DataType kReals[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16};
  return kReals[m.pick(0, 2)];
}

void quantize(Maker& m) {
  const Dims shape = m.dims(0, 3, 1);
  const Dims scale = scale_dims(m, shape);
  m.add(shape);
  m.give(m.values(m.type(1), scale, 1, 2));
  m.flip() ? m.add(scale, 0, 3) : m.omit();
  if (!m.instance.inputs[2].present && m.flip()) m.set("output_dtype", static_cast<int64_t>(m.type(2)));
  m.maybe("saturate", m.pick(0, 1));
  m.maybe("precision", static_cast<int64_t>(some_real(m)));
  m.maybe("block_size", int64_t{0});
}

void dequantize(Maker& m) {
  const Dims shape = m.dims(0, 3, 1);
  const Dims scale = scale_dims(m, shape);
  m.add(shape);
  m.add(scale, 0.5, 2);
  m.flip() ? m.add(scale, 0, m.type(2) == DataType::kInt32 ? 0 : 3) : m.omit();
  const auto dtype = static_cast<int64_t>(some_real(m));
  is_minifloat(m.type(1)) ? m.set("output_dtype", dtype) : m.maybe("output_dtype", dtype);
  m.maybe("block_size", int64_t{0});
}

/// ONNX Runtime's forms of both.
void plain_quantize(Maker& m) {
  const Dims shape = m.dims(0, 3, 1), scale = scale_dims(m, shape);
  const bool to_bytes = m.instance.op->name == "QuantizeLinear";
  m.add(shape);
  m.give(m.values(m.type(1), scale, 1, 2));
  m.flip() ? m.add(scale, 0, !to_bytes && m.type(2) == DataType::kInt32 ? 0 : 3) : m.omit();
  for (const char* name : {"block_size", "output_dtype"}) m.maybe(name, int64_t{0});
  if (to_bytes) m.maybe("precision", int64_t{0});
  if (to_bytes) m.maybe("saturate", int64_t{1});
}

void dynamic_quantize(Maker& m) {
  m.add(m.dims(0, 3, 1));
  m.outputs(3);
}

}  // namespace

Dims broadcastable(Maker& m, const Dims& dims) {
  const auto dropped = m.flip(0.3) ? m.pick(0, static_cast<int64_t>(dims.size())) : 0;
  Dims result(dims.begin() + dropped, dims.end());
  for (int64_t& dim : result)
    if (m.flip(0.2)) dim = 1;
  return result;
}

void add_pointwise_recipes(Recipes& recipes) {
  recipes[""] = plain;
  recipes["Div"] = with_divisor;
  recipes["Mod"] = mod;
  recipes["Pow"] = power;
  recipes["BitShift"] = bit_shift;
  recipes["Clip"] = clip;
  recipes["Celu"] = celu;
  recipes["Gelu"] = gelu;
  recipes["PRelu"] = prelu;
  recipes["IsInf"] = is_inf;
  recipes["Cast"] = cast;
  recipes["CastLike"] = cast_like;
  recipes["Dropout"] = dropout;
  for (const std::string_view name : {"Softmax", "LogSoftmax", "Hardmax"}) recipes[name] = leave_one_axis;
  for (const std::string_view name : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                                      "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    recipes[name] = reduce;
  for (const std::string_view name : {"ArgMax", "ArgMin"}) recipes[name] = arg_extreme;
  for (const std::string_view name : {"CumSum", "CumProd"}) recipes[name] = cumulative;
  recipes["BatchNormalization"] = batch_normalization;
  recipes["InstanceNormalization"] = instance_normalization;
  recipes["GroupNormalization"] = group_normalization;
  recipes["LayerNormalization"] = layer_normalization;
  recipes["RMSNormalization"] = root_mean_square;
  recipes["MeanVarianceNormalization"] = mean_variance;
  recipes["LRN"] = lrn;
  recipes["LpNormalization"] = lp_normalization;
  recipes["QuantizeLinear"] = quantize;
  recipes["DequantizeLinear"] = dequantize;
  recipes["DynamicQuantizeLinear"] = dynamic_quantize;
  for (const std::string_view name : {"com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear"})
    recipes[name] = plain_quantize;
}

Recipe recipe_for(const OpDef& op) {
  static const Recipes recipes = [] {
    Recipes all;
    add_pointwise_recipes(all);
    add_movement_recipes(all);
    add_window_recipes(all);
    add_product_recipes(all);
    add_selection_recipes(all);
    add_attention_recipes(all);
    add_contrib_recipes(all);
    add_control_recipes(all);
    return all;
  }();
  const auto found = recipes.find(full_name(op));
  return found == recipes.end() ? recipes.at("") : found->second;
}

}  // namespace isomer::test
