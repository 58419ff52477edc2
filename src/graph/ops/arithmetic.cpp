// Add Sub Mul Div Mod Pow: broadcasting arithmetic on two operands. Min Max Sum Mean: on any number of them.
#include <algorithm>
#include <cmath>

#include "graph/ops/common.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::BinaryOp;
using te::Expr;

Result<te::Program> compute_mod(const OpContext& context) {
  const BinaryOp op = context.get_int("fmod") != 0 ? BinaryOp::kTruncMod : BinaryOp::kFloorMod;
  return pointwise([op](Expr a, Expr b) { return te::binary(op, a, b); })(context);
}

/// Before opset 28 floats had C's fmod only.
bool has_floor_mod_of_floats(NodeForm& form) {
  const auto found = form.node().attributes.find("fmod");
  const int64_t* fmod = found == form.node().attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return is_float(form.type(0).dtype) && (!fmod || *fmod == 0);
}
Result<void> demand_fmod(NodeForm& form) {
  if (!has_floor_mod_of_floats(form)) return {};
  return form.invalid("fmod 1 expected for {}, 0 found", name(form.type(0).dtype));
}
Result<void> keep_fmod(NodeForm& form) {
  if (!has_floor_mod_of_floats(form)) return {};
  return form.unsupported("fmod 1 expected for {}, 0 found, which the opset lacks", name(form.type(0).dtype));
}

/// Up to this one all integers are numbers of the type, odd ones too.
double whole_numbers(DataType type) {
  switch (type) {
    case DataType::kFloat16: return 0x1p11;
    case DataType::kBFloat16: return 0x1p8;
    case DataType::kFloat32: return 0x1p24;
    default: return 0x1p53;
  }
}

/// Integer powers wrap in 64 bits; where a float is involved the power is taken in the wider float of the two, of an
/// integer exponent in one that holds it: whether it is odd is the sign of a power.
DataType power_type(const OpContext& context) {
  const DataType base = context.dtype(0), exponent = context.dtype(1);
  if (!is_float(base)) return is_float(exponent) ? DataType::kFloat64 : DataType::kInt64;
  if (is_float(exponent)) return bit_width(exponent) > bit_width(base) ? exponent : base;
  const auto holds = [&, written = context.ints(1)](DataType type) {
    const auto is_whole = [&](int64_t value) { return std::abs(static_cast<double>(value)) <= whole_numbers(type); };
    return is_exact_cast(exponent, type) || (written && std::all_of(written->begin(), written->end(), is_whole));
  };
  if (base == DataType::kFloat64 || holds(base)) return base;
  return holds(DataType::kFloat32) ? DataType::kFloat32 : DataType::kFloat64;
}

Result<te::Program> compute_pow(const OpContext& context) {
  const DataType type = power_type(context);
  return pointwise(
      [type](Expr x, Expr y) { return te::cast(x.dtype(), te::pow(te::cast(type, x), te::cast(type, y))); })(context);
}

/// A balanced tree, so that no number of operands makes a deep expression.
Expr fold_balanced(BinaryOp op, const std::vector<Expr>& operands, size_t first, size_t last) {
  if (last - first == 1) return operands[first];
  const size_t middle = first + (last - first) / 2;
  return te::binary(op, fold_balanced(op, operands, first, middle), fold_balanced(op, operands, middle, last));
}

Compute fold(BinaryOp op, bool mean = false) {
  return [op, mean](const OpContext& context) -> Result<te::Program> {
    TRY(const auto types, broadcast_shapes(context));
    const Shape& shape = *types[0].shape;
    std::vector<Expr> operands;
    for (int i = 0; i < context.input_count(); ++i) operands.push_back(context.load_broadcast(i, shape));
    const Expr folded = fold_balanced(op, operands, 0, operands.size());
    return single_map(shape, mean ? folded / te::Number(context.input_count()) : folded);
  };
}

/// x0 + x1 + … as additions from the left; the last one makes output 0 unless more follows.
Result<ValueId> emit_sum_but_last(NodeForm& form, int count) {
  ValueId sum = form.input(0);
  for (int i = 1; i < count; ++i) {
    TRY(sum, form.emit("Add", {sum, form.input(i)}));
  }
  return sum;
}

Result<void> expand_sum(NodeForm& form) {
  const int last = form.input_count() - 1;
  if (last == 0) return form.emit_as(0, "Identity", {form.input(0)});
  TRY(const ValueId sum, emit_sum_but_last(form, last));
  return form.emit_as(0, "Add", {sum, form.input(last)});
}

Result<void> expand_mean(NodeForm& form) {
  const int count = form.input_count();
  if (count == 1) return form.emit_as(0, "Identity", {form.input(0)});
  if (!form.type(0).is_tensor()) return form.unsupported("operands of known type expected");
  TRY(const ValueId sum, emit_sum_but_last(form, count));
  return form.emit_as(0, "Div", {sum, form.scalar(form.type(0).dtype, count, "count")});
}

/// Min or Max of an operand and a constant scalar as the Clip that it is, the other bound infinite.
Result<void> bound_by_clip(NodeForm& form) {
  const bool is_min = form.node().op_type == "Min";
  for (const int i : {1, 0}) {
    const Tensor* bound = form.constant(i);
    if (form.input_count() != 2 || !bound || !bound->dims().empty()) continue;
    const ValueId none = form.scalar(bound->dtype(), is_min ? -HUGE_VAL : HUGE_VAL, "none");
    std::vector<ValueId> inputs = {form.input(1 - i), form.input(i), none};
    if (is_min) std::swap(inputs[1], inputs[2]);
    return form.emit_as(0, "Clip", std::move(inputs));
  }
  // One shape is what the opset demands of a file's own node.
  for (int i = 1; i < form.input_count(); ++i)
    if (form.has_rank(0) && form.has_rank(i) && contradict(*form.type(0).shape, *form.type(i).shape))
      return form.unsupported("operands of one shape expected where the opset does not broadcast");
  return {};
}

/// Up to opset 7 operands of variadic operators have one shape; others are written in another way.
Version without_broadcast(int since, Reform otherwise) {
  return {since, since == 1 ? Reform(drop_consumed_inputs) : nullptr, [otherwise](NodeForm& form) -> Result<void> {
            for (int i = 1; i < form.input_count(); ++i)
              if (!form.has_rank(0) || !form.has_rank(i) || form.type(0).shape != form.type(i).shape)
                return otherwise(form);
            return {};
          }};
}

/// More addends than these are taken for several sums.
constexpr size_t kMaxAddends = 32;

/// The operands of additions from the left that end in `sum`: a + b + c, as long as all have one shape. Those with
/// broadcasting stay additions: that is how a bias is written.
std::vector<ValueId> addends(const Graph& graph, const Node& sum) {
  const Pattern pattern(graph);
  const auto same_shape = [&](const Node& add) {
    const ValueType& type = graph.value(add.outputs[0]).type;
    return type.has_shape() && type == graph.value(add.inputs[0]).type && type == graph.value(add.inputs[1]).type;
  };
  std::vector<ValueId> reversed;
  const Node* add = &sum;
  if (!same_shape(sum)) return {};
  while (reversed.size() + 1 < kMaxAddends) {
    reversed.push_back(add->inputs[1]);
    const Node* next = pattern.producer(add->inputs[0], "Add");
    if (!next || !same_shape(*next)) break;
    add = next;
  }
  reversed.push_back(add->inputs[0]);
  return {reversed.rbegin(), reversed.rend()};
}

std::optional<Node> recognize_sum(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* last = pattern.node(root, "Add");
  if (!last || !is_float(graph.value(last->outputs[0]).type.dtype)) return std::nullopt;
  std::vector<ValueId> operands = addends(graph, *last);
  if (operands.size() < 3) return std::nullopt;
  return pattern.make("Sum", std::move(operands));
}

std::optional<Node> recognize_mean(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* div = pattern.node(root, "Div");
  if (!div) return std::nullopt;
  const auto divisor = pattern.scalar(div->inputs[1]);
  const Node* sum = pattern.producer(div->inputs[0], "Add");
  if (!divisor || !sum) return std::nullopt;
  std::vector<ValueId> operands = addends(graph, *sum);
  if (operands.empty() || *divisor != static_cast<double>(operands.size())) return std::nullopt;
  return pattern.make("Mean", std::move(operands));
}

}  // namespace

std::vector<OpDef> arithmetic() {
  return {
      {.name = "Add",
       .since = 14,
       .inputs = {"A", "B"},
       .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .versions = {{13}, {7}, explicit_broadcast(6), explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a + b; }),
       .axioms = {{"Add(a,b) = Add(b,a)", "broadcast"},
                  {"Add(a,Add(b,c)) = Add(Add(a,b),c)", "broadcast", FloatClass::kReassociated},
                  {"Add(a,0) = a", "equal", FloatClass::kSignOfZero},
                  {"Sub(a,a) = Mul(a,0)", "equal", FloatClass::kFinite},
                  {"Add(a,a) = Mul(a,2)", "equal"}}},

      {.name = "Sub",
       .since = 14,
       .inputs = {"A", "B"},
       .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .versions = {{13}, {7}, explicit_broadcast(6), explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a - b; }),
       .axioms = {{"Sub(a,b) = Add(a,Neg(b))", "broadcast"}}},

      {.name = "Mul",
       .since = 14,
       .inputs = {"A", "B"},
       .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .versions = {{13}, {7}, explicit_broadcast(6), explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a * b; }),
       .axioms = {{"Mul(a,b) = Mul(b,a)", "broadcast"},
                  {"Mul(a,Mul(b,c)) = Mul(Mul(a,b),c)", "broadcast", FloatClass::kReassociated},
                  {"Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))", "broadcast", FloatClass::kReassociated},
                  {"Mul(a,1) = a", "equal"}}},

      {.name = "Div",
       .since = 14,
       .inputs = {"A", "B"},
       .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .versions = {{13}, {7}, explicit_broadcast(6), explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a / b; }),
       .axioms = {{"Div(a,b) = Mul(a,Reciprocal(b))", "broadcast", FloatClass::kReassociated},
                  {"Div(a,1) = a", "equal"},
                  {"Div(a,2) = Mul(a,1/2)", "equal of floats"}}},

      {.name = "Mod",
       .since = 28,
       .inputs = {"A", "B"},
       .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .attributes = {zero_or_one("fmod", 0)},
       .versions = {{13, demand_fmod, keep_fmod}, {10, demand_fmod, keep_fmod}},
       .infer = broadcast_shapes,
       .compute = compute_mod},

      {.name = "Pow",
       .since = 15,
       .inputs = {"X", "Y:T1"},
       .outputs = {"Z"},
       .types = {{"T", kFloats | kIndices}, {"T1", kNumeric}},
       .versions = {{13}, {12}, {7}, explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = compute_pow,
       .axioms = {{"Pow(a,1) = a", "equal"}}},

      {.name = "Min",
       .since = 13,
       .inputs = {"data_0*"},
       .outputs = {"min"},
       .types = {{"T", kNumeric}},
       .versions = {{12}, {8}, without_broadcast(6, bound_by_clip), without_broadcast(1, bound_by_clip)},
       .infer = broadcast_shapes,
       .compute = fold(BinaryOp::kMin),
       .axioms = {{"Min(a,b) = Min(b,a)", "broadcast", FloatClass::kSignOfZero},
                  {"Min(a,Min(b,c)) = Min(Min(a,b),c)", "broadcast", FloatClass::kSignOfZero},
                  {"Min(a,a) = a", "equal"}}},

      {.name = "Max",
       .since = 13,
       .inputs = {"data_0*"},
       .outputs = {"max"},
       .types = {{"T", kNumeric}},
       .versions = {{12}, {8}, without_broadcast(6, bound_by_clip), without_broadcast(1, bound_by_clip)},
       .infer = broadcast_shapes,
       .compute = fold(BinaryOp::kMax),
       .axioms = {{"Max(a,b) = Max(b,a)", "broadcast", FloatClass::kSignOfZero},
                  {"Max(a,Max(b,c)) = Max(Max(a,b),c)", "broadcast", FloatClass::kSignOfZero},
                  {"Max(a,a) = a", "equal"},
                  {"Max(a,Min(b,c)) = Min(Max(a,b),Max(a,c))", "broadcast", FloatClass::kSignOfZero},
                  {"Max(a,Min(a,b)) = a", "broadcast", FloatClass::kFinite},
                  {"Add(a,Max(b,c)) = Max(Add(a,b),Add(a,c))", "broadcast of floats", FloatClass::kFinite},
                  {"Neg(Max(a,b)) = Min(Neg(a),Neg(b))", "broadcast of floats", FloatClass::kSignOfZero}}},

      {.name = "Sum",
       .since = 13,
       .inputs = {"data_0*"},
       .outputs = {"sum"},
       .types = {{"T", kFloats}},
       .versions = {{8}, without_broadcast(6, expand_sum), without_broadcast(1, expand_sum)},
       .infer = broadcast_shapes,
       .compute = fold(BinaryOp::kAdd),
       .expand = expand_sum,
       .recognize = recognize_sum},

      {.name = "Mean",
       .since = 13,
       .inputs = {"data_0*"},
       .outputs = {"mean"},
       .types = {{"T", kFloats}},
       .versions = {{8}, without_broadcast(6, expand_mean), without_broadcast(1, expand_mean)},
       .infer = broadcast_shapes,
       .compute = fold(BinaryOp::kAdd, true),
       .expand = expand_mean,
       .recognize = recognize_mean},
  };
}

}  // namespace isomer::ops
