// Equal Less LessOrEqual Greater GreaterOrEqual, And Or Xor Not, Where, IsNaN IsInf: what gives or reads bools.
#include "graph/ops/common.h"
#include "graph/ops/minifloat_casts.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

Result<std::vector<ValueType>> infer_where(const OpContext& context) {
  TRY(std::vector<ValueType> types, broadcast_shapes(context));
  types[0].dtype = context.dtype(1);
  return types;
}

Result<std::vector<ValueType>> infer_predicate(const OpContext& context) {
  return one(DataType::kBool, context.shape(0));
}

Expr number_of(Expr x) { return is_minifloat(x.dtype()) ? decoded(std::move(x)) : x; }

Expr is_infinite(const OpContext& context, Expr x) {
  x = number_of(std::move(x));
  Expr found = te::truth(false);
  for (const bool negative : {false, true})
    if (context.get_int(negative ? "detect_negative" : "detect_positive") != 0)
      found = found || te::equal(x, te::Number::infinity(negative));
  return found;
}

}  // namespace

std::vector<OpDef> comparison() {
  return {
      {.name = "Equal",
       .since = 19,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kPlain}, {"T1", kBoolean}},
       .versions = {{13}, {11}, {7}, explicit_broadcast(1)},
       .infer = broadcast_to(DataType::kBool),
       .compute = pointwise([](Expr a, Expr b) { return te::equal(a, b); }),
       .axioms = {{"Equal(a,b) = Equal(b,a)", "broadcast"}}},

      {.name = "Less",
       .since = 13,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kNumeric}, {"T1", kBoolean}},
       .versions = {{9}, {7}, explicit_broadcast(1)},
       .infer = broadcast_to(DataType::kBool),
       .compute = pointwise([](Expr a, Expr b) { return a < b; }),
       .axioms = {{"Less(a,b) = Greater(b,a)", "broadcast"}}},

      {.name = "LessOrEqual",
       .since = 16,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kNumeric}, {"T1", kBoolean}},
       .versions = {{12}},
       .infer = broadcast_to(DataType::kBool),
       .compute = pointwise([](Expr a, Expr b) { return a <= b; }),
       .axioms = {{"LessOrEqual(a,b) = GreaterOrEqual(b,a)", "broadcast"}}},

      {.name = "Greater",
       .since = 13,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kNumeric}, {"T1", kBoolean}},
       .versions = {{9}, {7}, explicit_broadcast(1)},
       .infer = broadcast_to(DataType::kBool),
       .compute = pointwise([](Expr a, Expr b) { return b < a; })},

      {.name = "GreaterOrEqual",
       .since = 16,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kNumeric}, {"T1", kBoolean}},
       .versions = {{12}},
       .infer = broadcast_to(DataType::kBool),
       .compute = pointwise([](Expr a, Expr b) { return b <= a; })},

      {.name = "And",
       .since = 7,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kBoolean}, {"T1", kBoolean}},
       .versions = {explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a && b; }),
       .axioms = {{"And(a,b) = And(b,a)", "broadcast"}, {"And(a,And(b,c)) = And(And(a,b),c)", "broadcast"}}},

      {.name = "Or",
       .since = 7,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kBoolean}, {"T1", kBoolean}},
       .versions = {explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return a || b; }),
       .axioms = {{"Or(a,b) = Or(b,a)", "broadcast"}, {"Or(a,Or(b,c)) = Or(Or(a,b),c)", "broadcast"}}},

      {.name = "Xor",
       .since = 7,
       .inputs = {"A", "B"},
       .outputs = {"C:T1"},
       .types = {{"T", kBoolean}, {"T1", kBoolean}},
       .versions = {explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](Expr a, Expr b) { return te::binary(te::BinaryOp::kXor, a, b); }),
       .axioms = {{"Xor(a,b) = Xor(b,a)", "broadcast"}}},

      {.name = "Not",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kBoolean}},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return te::logical_not(x); }),
       .axioms = {{"Not(Not(a)) = a", "equal"},
                  {"Not(And(a,b)) = Or(Not(a),Not(b))", "broadcast"},
                  {"Not(Less(a,b)) = GreaterOrEqual(a,b)", "broadcast", FloatClass::kFinite}}},

      {.name = "Where",
       .since = 16,
       .inputs = {"condition:B", "X", "Y"},
       .outputs = {"output"},
       .types = {{"B", kBoolean}, {"T", kPlain}},
       .versions = {{9}},
       .infer = infer_where,
       .compute = pointwise([](Expr condition, Expr x, Expr y) { return te::select(condition, x, y); }),
       .axioms = {{"Where(Not(c),x,y) = Where(c,y,x)", "broadcast"},
                  {"Where(Less(a,b),a,b) = Min(a,b)", "broadcast", FloatClass::kFinite}}},

      {.name = "IsNaN",
       .since = 20,
       .inputs = {"X:T1"},
       .outputs = {"Y:T2"},
       .types = {{"T1", kFloats | kFloat8s}, {"T2", kBoolean}},
       .versions = {{13}, {9}},
       .infer = infer_predicate,
       .compute = pointwise([](Expr x) { return te::unary(te::UnaryOp::kIsNan, number_of(std::move(x))); })},

      {.name = "IsInf",
       .since = 20,
       .inputs = {"X:T1"},
       .outputs = {"Y:T2"},
       .types = {{"T1", kFloats | kFloat8s}, {"T2", kBoolean}},
       .attributes = {with_default("detect_negative", 1), with_default("detect_positive", 1)},
       .versions = {{10}},
       .infer = infer_predicate,
       .compute = pointwise_with(is_infinite)},
  };
}

}  // namespace isomer::ops
