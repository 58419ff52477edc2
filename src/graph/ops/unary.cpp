// Neg Abs Sign Reciprocal Sqrt Exp Log Floor Ceil Round Erf: arithmetic on one operand.
#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::UnaryOp;

Expr magnitude(Expr x) { return is_unsigned_int(x.dtype()) ? x : te::abs(x); }

/// NaN and zeros stay what they are.
/// Of either zero it is 0, of what is no number that.
Expr sign(Expr x) {
  const Expr rest = is_float(x.dtype()) ? te::select(te::equal(x, te::Number(0)), te::literal(0, x.dtype()), x) : x;
  const Expr not_negative = te::select(te::Number(0) < x, te::literal(1, x.dtype()), rest);
  if (is_unsigned_int(x.dtype())) return not_negative;
  return te::select(x < te::Number(0), te::literal(-1, x.dtype()), not_negative);
}

/// Opsets 9 to 12 took integers too.
Expr error_function(Expr x) {
  if (is_float(x.dtype())) return te::erf(x);
  return te::cast(x.dtype(), te::erf(te::cast(DataType::kFloat64, x)));
}

Compute apply(UnaryOp op) {
  return pointwise([op](Expr x) { return te::unary(op, x); });
}

}  // namespace

std::vector<OpDef> unary() {
  const Version opset1 = {1, drop_consumed_inputs};
  return {
      {.name = "Neg",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats | kSignedInts}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kNeg),
       .axioms = {{"Neg(Neg(a)) = a", "equal"},
                  {"Neg(Add(a,b)) = Add(Neg(a),Neg(b))", "broadcast", FloatClass::kSignOfZero},
                  {"Neg(Mul(a,b)) = Mul(Neg(a),b)", "broadcast"},
                  {"Neg(a) = Mul(a,-1)", "equal"}}},

      {.name = "Abs",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kNumeric}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise(magnitude),
       .axioms = {{"Abs(Abs(a)) = Abs(a)", "equal"},
                  {"Abs(Neg(a)) = Abs(a)", "equal"},
                  {"Abs(a) = Max(a,Neg(a))", "equal", FloatClass::kSignOfZero},
                  {"Sqrt(Mul(a,a)) = Abs(a)", "equal", FloatClass::kUnsafe},
                  {"Abs(Mul(a,b)) = Mul(Abs(a),Abs(b))", "broadcast of floats"},
                  {"Mul(Abs(a),Max(b,c)) = Max(Mul(Abs(a),b),Mul(Abs(a),c))", "broadcast of floats",
                   FloatClass::kFinite}}},

      {.name = "Sign",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kNumeric}},
       .versions = {{9}},
       .infer = same_as_first,
       .compute = pointwise(sign),
       .axioms = {{"Sign(Sign(a)) = Sign(a)", "equal"}, {"Mul(Sign(a),Abs(a)) = a", "equal", FloatClass::kSignOfZero}}},

      {.name = "Reciprocal",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return te::Number(1) / x; }),
       .axioms = {{"Abs(Reciprocal(a)) = Reciprocal(Abs(a))", "equal"}}},

      {.name = "Sqrt",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kSqrt)},

      {.name = "Exp",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kExp),
       .axioms = {{"Exp(Add(a,b)) = Mul(Exp(a),Exp(b))", "broadcast", FloatClass::kUnsafe},
                  {"Exp(Neg(a)) = Reciprocal(Exp(a))", "equal", FloatClass::kReassociated},
                  {"Exp(0) = 1", "equal"},
                  {"Max(Exp(a),Exp(b)) = Exp(Max(a,b))", "broadcast", FloatClass::kReassociated}}},

      {.name = "Log",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kLog)},

      {.name = "Floor",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kFloor),
       .axioms = {{"Floor(Floor(a)) = Floor(a)", "equal"}, {"Floor(Neg(a)) = Neg(Ceil(a))", "equal"}}},

      {.name = "Ceil",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{6}, opset1},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kCeil),
       .axioms = {{"Ceil(Ceil(a)) = Ceil(a)", "equal"}}},

      {.name = "Round",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{11}},
       .infer = same_as_first,
       .compute = apply(UnaryOp::kRound),
       .axioms = {{"Round(Round(a)) = Round(a)", "equal"}, {"Round(Floor(a)) = Floor(a)", "equal"}}},

      {.name = "Erf",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kNumeric}},
       .versions = {{9}},
       .infer = same_as_first,
       .compute = pointwise(error_function),
       .axioms = {{"Erf(Neg(a)) = Neg(Erf(a))", "equal of floats"}}},
  };
}

}  // namespace isomer::ops
