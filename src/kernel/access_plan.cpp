#include "kernel/access_plan.h"

#include <algorithm>

#include "graph/te/simplifier.h"
#include "kernel/unsupported.h"
#include "util/check.h"

namespace isomer::kernel {
namespace {

const te::Var* as_loop_variable(const Expr& expr) {
  const auto* variable = te::as<te::Var>(expr);
  return variable && variable->kind == te::VarKind::kLoop ? variable : nullptr;
}

/// The float32 number that is taken as a float64 one; empty where it is none.
Expr float_in_double(const Expr& expr) {
  const auto* cast = te::as<te::Cast>(expr);
  return cast && cast->operand.dtype() == DataType::kFloat32 ? cast->operand : Expr();
}

/// A sum, product or quotient of float32 numbers in float64 that is rounded to float32: it is the one that float32
/// arithmetic gives, since float64 has more than twice as many digits (Figueroa, When is double rounding innocuous?,
/// 1995). Empty: it is something else.
Expr narrowed(const te::Cast& cast, DataType to) {
  const auto* wide = te::as<te::Binary>(cast.operand);
  if (to != DataType::kFloat32 || !wide || cast.operand.dtype() != DataType::kFloat64) return {};
  const Expr left = float_in_double(wide->left), right = float_in_double(wide->right);
  if (!left || !right) return {};
  switch (wide->op) {
    case te::BinaryOp::kAdd: return left + right;
    case te::BinaryOp::kSub: return left - right;
    case te::BinaryOp::kMul: return left * right;
    case te::BinaryOp::kDiv: return left / right;
    default: return {};
  }
}

}  // namespace

bool has_static_shape(const Buffer& buffer) {
  return std::all_of(buffer.shape.begin(), buffer.shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

bool divides(te::BinaryOp op) {
  return op == te::BinaryOp::kDiv || op == te::BinaryOp::kFloorDiv || op == te::BinaryOp::kFloorMod ||
         op == te::BinaryOp::kTruncMod;
}

/// Loads read what nobody has proved anything of, and so do loops that run as long as a load says; sizes are none.
bool AccessPlans::is_decided_by_data(const Expr& expr) const {
  return te::any_node(expr, [&](const Expr& e) {
    if (te::as<te::Load>(e)) return sizes_.reads_data(e);
    const auto* variable = as_loop_variable(e);
    if (!variable || loops_.interval(variable->index).high) return false;
    const Expr* extent = loops_.extent(variable->index);
    return !extent || !sizes_.decide(*extent);
  });
}

te::Ranges AccessPlans::with_bytes(te::Ranges ranges) {
  return [ranges = std::move(ranges)](const Expr& leaf) -> te::Interval {
    const auto* cast = te::as<te::Cast>(leaf);
    if (cast && cast->operand.dtype() == DataType::kUInt8) return {0, 255};
    return ranges(leaf);
  };
}

AccessPlan AccessPlans::plan(int buffer, const std::vector<Expr>& index) const {
  const Buffer& target = kernel_.buffers[buffer];
  CHECK(index.size() == target.shape.size()) << target.name << ": " << index.size() << " indices";
  // Of the last dim whose size data decide, and of those behind it, the pitch is known.
  size_t first = 0;
  for (size_t k = 0; k < index.size(); ++k)
    if (!target.shape[k].is_constant()) first = k;
  te::Simplifier simplifier(ranges_);
  AccessPlan access;
  access.buffer = buffer;
  Expr linear = te::index(0);
  for (size_t k = 0; k < index.size(); ++k) {
    const te::Polynomial polynomial = simplifier.polynomial(index[k]);
    const te::Range range = simplifier.range(polynomial);
    const bool is_proved = target.shape[k].is_constant() ? range.low >= 0 && range.high < target.shape[k].value()
                                                         : sizes_.are_around(index[k], target.shape[k].expr(), loops_);
    const bool is_checked = !is_proved && (target.is_checked || is_decided_by_data(index[k]));
    access.is_proved &= is_proved;
    if (k > first) linear = linear * target.shape[k].value();
    if (is_checked || k < first)
      access.axes.push_back({static_cast<int>(k), polynomial, is_checked});
    else
      linear = linear + index[k];
  }
  access.offset = simplifier.polynomial(linear);
  if (!access.offset.is_exact()) fail_unsupported("'{}' has too many elements", target.name);
  return access;
}

const AccessPlan& AccessPlans::of_load(const Expr& load) {
  if (const auto known = loads_.find(&*load); known != loads_.end()) return known->second.second;
  const auto& e = *te::as<te::Load>(load);
  return loads_.emplace(&*load, std::pair(load, plan(e.buffer.index, e.index))).first->second.second;
}

const te::Polynomial& AccessPlans::difference(const Expr& comparison) {
  if (const auto known = differences_.find(&*comparison); known != differences_.end()) return known->second.second;
  const auto& e = *te::as<te::Binary>(comparison);
  te::Simplifier simplifier(ranges_);
  te::Polynomial difference = simplifier.polynomial(e.right - e.left);
  return differences_.emplace(&*comparison, std::pair(comparison, std::move(difference))).first->second.second;
}

bool AccessPlans::may_fault(const Expr& expr) {
  if (const auto known = faults_.find(&*expr); known != faults_.end()) return known->second.second;
  bool result = false;
  if (const auto* e = te::as<te::Binary>(expr))
    result = divides(e->op) && !is_float(e->left.dtype()) && te::as_constant(e->right).value_or(0) == 0;
  else if (te::as<te::Load>(expr))
    result = !of_load(expr).is_proved;
  for (const Expr& child : te::detail::children(expr)) result = result || may_fault(child);
  faults_.emplace(&*expr, std::pair(expr, result));
  return result;
}

/// Choices, and integers computed from loops alone: how many elements a window has in all but the border's iterations
/// is then a number. What loads take part in is left as it is.
Expr AccessPlans::simplified(const Expr& expr) const {
  return te::transform(expr, [&](const Expr& e) -> Expr {
    if (const auto* cast = te::as<te::Cast>(e)) {
      if (const Expr same = narrowed(*cast, e.dtype())) return same;
      if (cast->operand.dtype() != DataType::kInt64 || te::has_load(cast->operand)) return {};
      return te::cast(e.dtype(), te::simplify_data(cast->operand, ranges_));
    }
    const auto* choice = te::as<te::Select>(e);
    if (!choice || te::has_load(choice->condition)) return {};
    return te::select(te::simplify_index(choice->condition, ranges_), choice->then, choice->otherwise);
  });
}

}  // namespace isomer::kernel
