#include "kernel/narrow_floats.h"

namespace isomer::kernel {
namespace {

bool is_zero(const te::Expr& expr) {
  const auto* literal = te::as<te::Literal>(expr);
  return literal && literal->value.to_double() == 0;
}

}  // namespace

bool is_unrounded(const te::Expr& expr, const std::function<bool(int)>& is_kept_wide) {
  if (!is_narrow_float(expr.dtype())) return false;
  const auto any = [&](const te::Expr& a, const te::Expr& b) {
    return is_unrounded(a, is_kept_wide) || is_unrounded(b, is_kept_wide);
  };
  return te::visit(
      expr, [](const te::Literal&) { return false; }, [](const te::Var&) { return false; },
      [](const te::Symbol&) { return false; },
      [&](const te::Unary& e) {
        const bool is_of_sign = e.op == te::UnaryOp::kNeg || e.op == te::UnaryOp::kAbs;
        return !is_of_sign || is_unrounded(e.operand, is_kept_wide);
      },
      [&](const te::Binary& e) {
        const bool is_choice = e.op == te::BinaryOp::kMin || e.op == te::BinaryOp::kMax;
        return !is_choice || any(e.left, e.right);
      },
      [&](const te::Select& e) { return any(e.then, e.otherwise); }, [](const te::Cast&) { return false; },
      [&](const te::Load& e) { return is_kept_wide(e.buffer.index); });
}

bool compares_rounded(const te::Binary& e) {
  const DataType dtype = e.left.dtype();
  const bool may_become_zero = dtype == DataType::kFloat16;
  return is_comparison(e.op) && is_narrow_float(dtype) && (may_become_zero || (!is_zero(e.left) && !is_zero(e.right)));
}

bool combines_rounded(const te::Monoid& combine) { return combine.arity() > 1; }

}  // namespace isomer::kernel
