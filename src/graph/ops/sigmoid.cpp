// Sigmoid Tanh HardSigmoid HardSwish Softplus Softsign Mish Gelu Swish SwiGLU: activations that saturate, and gates
// made of them.
#include "graph/ops/sigmoid.h"

#include <cmath>
#include <numbers>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

constexpr double kCubic = 0.044715;
constexpr double kTanhScale = 0.79788456080286535588;

/// The half first: twice a large x may be none.
te::Expr half_of(const te::Expr& x, const te::Expr& inner) { return x * te::Number::fraction(1, 2) * (inner + 1); }

}  // namespace

te::Expr sigmoid_of(const te::Expr& x) { return te::Number(1) / (te::exp(-x) + 1); }

te::Expr gelu_of(const te::Expr& x) { return half_of(x, te::erf(x / te::sqrt(te::literal(2, x.dtype())))); }

te::Expr tanh_gelu_of(const te::Expr& x) {
  return half_of(x, te::tanh((x + x * x * x * te::Number(kCubic)) * te::Number(kTanhScale)));
}

te::Expr hard_sigmoid_of(const te::Expr& x, double alpha, double beta) {
  return te::max(te::min(x * te::Number(alpha) + te::Number(beta), 1), 0);
}

namespace {

using te::Expr;
using te::Number;

constexpr float kSixth = 1.0f / 6.0f;

/// No exponential overflows: log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
Expr softplus_of(Expr x) { return te::max(x, 0) + te::log(te::exp(-te::abs(x)) + 1); }

Expr hard_sigmoid(const OpContext& context, Expr x) {
  return hard_sigmoid_of(x, context.get_float("alpha"), context.get_float("beta"));
}

/// The specification's own expansion, with its float32 sixth.
Result<void> expand_hard_swish(NodeForm& form) {
  TRY(const ValueId gate, form.emit("HardSigmoid", {form.input(0)}, {{"alpha", kSixth}, {"beta", 0.5f}}));
  return form.emit_as(0, "Mul", {form.input(0), gate});
}

/// A product of x and a gate that reads x itself: the gate's node, with which operand it is.
const Node* gate_of(const Pattern& pattern, const Node* product, std::string_view gate_type, int& x_side) {
  for (x_side = 0; product && x_side < 2; ++x_side)
    if (const Node* gate = pattern.producer(product->inputs[1 - x_side], gate_type)) return gate;
  return nullptr;
}

std::optional<Node> recognize_hard_swish(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* product = pattern.node(root, "Mul");
  int side = 0;
  const Node* gate = gate_of(pattern, product, "HardSigmoid", side);
  if (!gate || gate->inputs[0] != product->inputs[side]) return std::nullopt;
  const auto alpha = gate->attributes.find("alpha"), beta = gate->attributes.find("beta");
  const auto is = [&](const auto& found, float value) {
    const float* written = found == gate->attributes.end() ? nullptr : std::get_if<float>(&found->second);
    return written && *written == value;
  };
  if (!is(alpha, kSixth) || !(beta == gate->attributes.end() || is(beta, 0.5f))) return std::nullopt;
  return pattern.make("HardSwish", {product->inputs[side]});
}

Result<void> expand_mish(NodeForm& form) {
  TRY(const ValueId softplus, form.emit("Softplus", {form.input(0)}));
  TRY(const ValueId gate, form.emit("Tanh", {softplus}));
  return form.emit_as(0, "Mul", {form.input(0), gate});
}

std::optional<Node> recognize_mish(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* product = pattern.node(root, "Mul");
  int side = 0;
  const Node* gate = gate_of(pattern, product, "Tanh", side);
  const Node* softplus = gate ? pattern.producer(gate->inputs[0], "Softplus") : nullptr;
  if (!softplus || softplus->inputs[0] != product->inputs[side]) return std::nullopt;
  return pattern.make("Mish", {product->inputs[side]});
}

Result<void> expand_swish(NodeForm& form) {
  if (!form.type(0).is_tensor()) return form.unsupported("X of known type expected");
  TRY(const auto alpha, form.take_float("alpha"));
  ValueId scaled = form.input(0);
  if (alpha.value_or(1) != 1) {
    TRY(scaled, form.emit("Mul", {scaled, form.scalar(form.type(0).dtype, *alpha, "alpha")}));
  }
  TRY(const ValueId gate, form.emit("Sigmoid", {scaled}));
  return form.emit_as(0, "Mul", {form.input(0), gate});
}

std::optional<Node> recognize_swish(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* product = pattern.node(root, "Mul");
  int side = 0;
  const Node* gate = gate_of(pattern, product, "Sigmoid", side);
  if (!gate) return std::nullopt;
  const ValueId x = product->inputs[side];
  if (gate->inputs[0] == x) return pattern.make("Swish", {x});
  const Node* scaled = pattern.producer(gate->inputs[0], "Mul");
  const auto alpha = scaled ? pattern.scalar(scaled->inputs[1]) : std::nullopt;
  if (!alpha || scaled->inputs[0] != x) return std::nullopt;
  return pattern.make("Swish", {x}, {{"alpha", static_cast<float>(*alpha)}});
}

// SwiGLU: Swish(a) b

Result<std::vector<ValueType>> infer_swiglu(const OpContext& context) {
  TRY_VOID(expect_shape(context, 1, context.shape(0)));
  return same_as_first(context);
}

Result<te::Program> compute_swiglu(const OpContext& context) {
  const double alpha = context.get_float("alpha");
  return pointwise([alpha](Expr a, Expr b) { return a * sigmoid_of(a * Number(alpha)) * b; })(context);
}

Result<void> expand_swiglu(NodeForm& form) {
  TRY(const auto alpha, form.take_float("alpha"));
  TRY(const ValueId gated, form.emit("Swish", {form.input(0)}, {{"alpha", alpha.value_or(1)}}));
  return form.emit_as(0, "Mul", {gated, form.input(1)});
}

std::optional<Node> recognize_swiglu(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* product = pattern.node(root, "Mul");
  for (int side = 0; product && side < 2; ++side)
    if (const Node* swish = pattern.producer(product->inputs[side], "Swish"))
      return pattern.make("SwiGLU", {swish->inputs[0], product->inputs[1 - side]}, swish->attributes);
  return std::nullopt;
}

Result<std::vector<ValueType>> infer_gelu(const OpContext& context) {
  const std::string& form = context.get_string("approximate");
  if (form != "none" && form != "tanh") return context.invalid("approximate none or tanh expected, '{}' found", form);
  return same_as_first(context);
}

Expr gelu(const OpContext& context, Expr x) {
  return context.get_string("approximate") == "tanh" ? tanh_gelu_of(x) : gelu_of(x);
}

Result<void> expand_gelu(NodeForm& form) {
  if (!form.type(0).is_tensor()) return form.unsupported("X of known type expected");
  TRY(const auto approximate, form.take_string("approximate"));
  const ValueId x = form.input(0);
  const DataType dtype = form.type(0).dtype;
  ValueId inner;
  if (approximate == "tanh") {
    TRY(const ValueId cube, form.emit("Pow", {x, form.scalar(dtype, 3, "three")}));
    TRY(const ValueId scaled_cube, form.emit("Mul", {cube, form.scalar(dtype, kCubic, "cubic")}));
    TRY(const ValueId sum, form.emit("Add", {x, scaled_cube}));
    TRY(const ValueId argument, form.emit("Mul", {sum, form.scalar(dtype, kTanhScale, "scale")}));
    TRY(inner, form.emit("Tanh", {argument}));
  } else {
    TRY(const ValueId argument, form.emit("Div", {x, form.scalar(dtype, std::numbers::sqrt2, "sqrt2")}));
    TRY(inner, form.emit("Erf", {argument}));
  }
  TRY(const ValueId shifted, form.emit("Add", {inner, form.scalar(dtype, 1, "one")}));
  TRY(const ValueId product, form.emit("Mul", {x, shifted}));
  return form.emit_as(0, "Mul", {product, form.scalar(dtype, 0.5, "half")});
}

/// The other operand of a commutative node one of whose operands is a constant about `value`; invalid if none is.
ValueId beside_constant(const Pattern& pattern, const Node* node, double value) {
  for (const int side : {0, 1})
    if (const auto found = node ? pattern.scalar(node->inputs[side]) : std::nullopt)
      if (std::abs(*found - value) <= 1e-3 * value) return node->inputs[1 - side];
  return {};
}

/// Factors of a product of products, the halves left out.
void collect_factors(const Pattern& pattern, ValueId value, std::vector<ValueId>& factors, int& halves) {
  const auto constant = pattern.scalar(value);
  if (constant == 0.5)
    ++halves;
  else if (const Node* product = factors.size() + halves < 3 ? pattern.producer(value, "Mul") : nullptr)
    for (const ValueId operand : product->inputs) collect_factors(pattern, operand, factors, halves);
  else
    factors.push_back(value);
}

std::optional<Node> recognize_gelu(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* product = pattern.node(root, "Mul");
  if (!product) return std::nullopt;
  std::vector<ValueId> factors;
  int halves = 0;
  for (const ValueId operand : product->inputs) collect_factors(pattern, operand, factors, halves);
  if (halves != 1 || factors.size() != 2) return std::nullopt;
  for (const int side : {0, 1}) {
    const ValueId inner = beside_constant(pattern, pattern.producer(factors[1 - side], "Add"), 1);
    if (pattern.producer(inner, "Erf")) return pattern.make("Gelu", {factors[side]});
    if (pattern.producer(inner, "Tanh"))
      return pattern.make("Gelu", {factors[side]}, {{"approximate", std::string("tanh")}});
  }
  return std::nullopt;
}

}  // namespace

std::vector<OpDef> sigmoid() {
  const Version opset1 = {1, drop_consumed_inputs};
  return {
      {.name = "Sigmoid",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise(sigmoid_of),
       .axioms = {{"Sigmoid(a) = Reciprocal(Add(1,Exp(Neg(a))))", "equal", FloatClass::kReassociated},
                  {"Relu(Sigmoid(a)) = Sigmoid(a)", "equal"},
                  {"Max(Sigmoid(a),Sigmoid(b)) = Sigmoid(Max(a,b))", "broadcast", FloatClass::kReassociated}}},

      {.name = "Tanh",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return te::tanh(x); }),
       .axioms = {{"Tanh(Neg(a)) = Neg(Tanh(a))", "equal"},
                  {"Tanh(a) = Sub(Mul(Sigmoid(Mul(a,2)),2),1)", "equal", FloatClass::kReassociated},
                  {"Max(Tanh(a),Tanh(b)) = Tanh(Max(a,b))", "broadcast", FloatClass::kReassociated}}},

      {.name = "HardSigmoid",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 0.2), with_default("beta", 0.5)},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise_with(hard_sigmoid)},

      {.name = "HardSwish",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{14}},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return x * hard_sigmoid_of(x, kSixth, 0.5); }),
       .expand = expand_hard_swish,
       .recognize = recognize_hard_swish},

      {.name = "Softplus",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{1}},
       .infer = same_as_first,
       .compute = pointwise(softplus_of),
       .axioms = {{"Sub(Softplus(a),Softplus(Neg(a))) = a", "equal", FloatClass::kReassociated}}},

      {.name = "Softsign",
       .since = 22,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .versions = {{1}},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return x / (te::abs(x) + 1); })},

      {.name = "Mish",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{18}},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return x * te::tanh(softplus_of(x)); }),
       .expand = expand_mish,
       .recognize = recognize_mish},

      {.name = "Gelu",
       .since = 20,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("approximate", "none")},
       .infer = infer_gelu,
       .compute = pointwise_with(gelu),
       .expand = expand_gelu,
       .recognize = recognize_gelu,
       .axioms = {{"Gelu(x) = Mul(Mul(x,Add(Erf(Div(x,Sqrt(2))),1)),1/2)", "equal", FloatClass::kReassociated}}},

      {.name = "Swish",
       .since = 24,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.0)},
       .infer = same_as_first,
       .compute = pointwise_with(
           [](const OpContext& context, Expr x) { return x * sigmoid_of(x * Number(context.get_float("alpha"))); }),
       .expand = expand_swish,
       .recognize = recognize_swish,
       .axioms = {{"Swish(a) = Mul(a,Sigmoid(a))", "equal", FloatClass::kReassociated}}},

      {.name = "SwiGLU",
       .since = 28,
       .inputs = {"A", "B"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.0)},
       .infer = infer_swiglu,
       .compute = compute_swiglu,
       .expand = expand_swiglu,
       .recognize = recognize_swiglu},
  };
}

}  // namespace isomer::ops
