// BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift.
#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::BinaryOp;
using te::Expr;

Result<std::vector<ValueType>> infer_shift(const OpContext& context) {
  const std::string& direction = context.get_string("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    return context.invalid("direction LEFT or RIGHT expected, '{}' found", direction);
  return broadcast_shapes(context);
}

/// Counts below zero, and of the type's width and more, shift everything out.
Result<te::Program> compute_shift(const OpContext& context) {
  const BinaryOp op = context.get_string("direction") == "LEFT" ? BinaryOp::kShiftLeft : BinaryOp::kShiftRight;
  return pointwise([op](Expr x, Expr count) { return te::binary(op, x, count); })(context);
}

OpDef bitwise_row(const char* name, BinaryOp op) {
  return {.name = name,
          .since = 18,
          .inputs = {"A", "B"},
          .outputs = {"C"},
          .types = {{"T", kInts}},
          .infer = broadcast_shapes,
          .compute = pointwise([op](Expr a, Expr b) { return te::binary(op, a, b); })};
}

}  // namespace

std::vector<OpDef> bitwise() {
  return {
      bitwise_row("BitwiseAnd", BinaryOp::kAnd),
      bitwise_row("BitwiseOr", BinaryOp::kOr),
      bitwise_row("BitwiseXor", BinaryOp::kXor),

      {.name = "BitwiseNot",
       .since = 18,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kInts}},
       .infer = same_as_first,
       .compute = pointwise([](Expr x) { return te::logical_not(x); }),
       .axioms = {{"BitwiseNot(BitwiseNot(a)) = a", "equal"},
                  {"BitwiseNot(BitwiseAnd(a,b)) = BitwiseOr(BitwiseNot(a),BitwiseNot(b))", "broadcast"}}},

      {.name = "BitShift",
       .since = 28,
       .inputs = {"X", "Y"},
       .outputs = {"Z"},
       .types = {{"T", kInts}},
       .attributes = {required("direction", AttributeKind::kString)},
       .versions = {{11}},
       .infer = infer_shift,
       .compute = compute_shift},
  };
}

}  // namespace isomer::ops
