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

/// Whether one of the conditions depends on a loop that the index depends on, too.
bool speak_of(const std::vector<Expr>& conditions, const Expr& index) {
  return te::any_node(index, [&](const Expr& e) {
    const te::Var* loop = as_loop_variable(e);
    return loop && std::any_of(conditions.begin(), conditions.end(),
                               [&](const Expr& condition) { return depends_on(condition, loop->index); });
  });
}

}  // namespace

bool has_static_shape(const Buffer& buffer) {
  return std::all_of(buffer.shape.begin(), buffer.shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

bool divides(te::BinaryOp op) {
  return op == te::BinaryOp::kDiv || op == te::BinaryOp::kFloorDiv || op == te::BinaryOp::kFloorMod ||
         op == te::BinaryOp::kTruncMod;
}

bool depends_on(const Expr& expr, int loop_variable) {
  return te::any_node(
      expr, [&](const Expr& e) { return as_loop_variable(e) && as_loop_variable(e)->index == loop_variable; });
}

/// Loads read what nobody has proved anything of, and so do loops that run as long as a load says.
bool AccessPlans::is_decided_by_data(const Expr& expr) const {
  return te::any_node(expr, [&](const Expr& e) {
    return te::as<te::Load>(e) || (as_loop_variable(e) && !loops_.interval(as_loop_variable(e)->index).high);
  });
}

te::Ranges AccessPlans::with_bytes(te::Ranges ranges) {
  return [ranges = std::move(ranges)](const Expr& leaf) -> te::Interval {
    const auto* cast = te::as<te::Cast>(leaf);
    if (cast && cast->operand.dtype() == DataType::kUInt8) return {0, 255};
    return ranges(leaf);
  };
}

AccessPlan AccessPlans::plan(int buffer, const std::vector<Expr>& index, const std::vector<Expr>* conditions) const {
  const Buffer& target = kernel_.buffers[buffer];
  CHECK(index.size() == target.shape.size()) << target.name << ": " << index.size() << " indices";
  const bool is_static = has_static_shape(target);
  te::Simplifier simplifier(ranges_);
  AccessPlan access;
  access.buffer = buffer;
  Expr linear = te::index(0);
  for (size_t k = 0; k < index.size(); ++k) {
    const te::Polynomial polynomial = simplifier.polynomial(index[k]);
    const te::Range range = simplifier.range(polynomial);
    const bool is_proved = is_static && range.low >= 0 && range.high < target.shape[k].value();
    const bool is_guarded = !conditions || speak_of(*conditions, index[k]);
    const bool is_checked = !is_proved && (!is_static || !is_guarded || is_decided_by_data(index[k]));
    access.is_proved &= is_proved;
    if (is_static) linear = linear * target.shape[k].value();
    if (is_checked || !is_static)
      access.axes.push_back({static_cast<int>(k), polynomial, is_checked});
    else
      linear = linear + index[k];
  }
  access.offset = simplifier.polynomial(linear);
  if (!access.offset.is_exact()) fail_unsupported("'{}' has too many elements", target.name);
  return access;
}

void AccessPlans::place(const Expr& expr, const Expr& predicate) {
  std::vector<Expr> conditions;
  if (predicate && predicate != te::truth(true)) conditions.push_back(predicate);
  place(expr, conditions);
}

void AccessPlans::place(const Expr& expr, std::vector<Expr>& conditions) {
  const auto under = [&](const Expr& condition, const Expr& inner) {
    conditions.push_back(condition);
    place(inner, conditions);
    conditions.pop_back();
  };
  if (const auto* choice = te::as<te::Select>(expr)) {
    place(choice->condition, conditions);
    under(choice->condition, choice->then);
    return under(choice->condition, choice->otherwise);
  }
  if (const auto* both = te::as<te::Binary>(expr);
      both && (both->op == te::BinaryOp::kAnd || both->op == te::BinaryOp::kOr)) {
    place(both->left, conditions);
    return under(both->left, both->right);
  }
  if (const auto* load = te::as<te::Load>(expr)) {
    AccessPlan access = guarded_plan(load->buffer.index, load->index, conditions);
    const auto is_checked = [](const AccessPlan& each) {
      return std::ranges::count_if(each.axes, [](const AccessPlan::Axis& axis) { return axis.is_checked; });
    };
    // One that stands at several places has the plan that does for all.
    const auto [known, is_new] = loads_.try_emplace(&*expr, expr, access);
    if (!is_new && is_checked(access) > is_checked(known->second.second)) known->second.second = std::move(access);
  }
  for (const Expr& child : te::detail::children(expr)) place(child, conditions);
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

/// What loads take part in is left as it is: data wrap around where indices do not.
Expr AccessPlans::simplified(const Expr& expr) const {
  return te::transform(expr, [&](const Expr& e) -> Expr {
    const auto* choice = te::as<te::Select>(e);
    if (!choice || te::has_load(choice->condition)) return {};
    return te::select(te::simplify_index(choice->condition, ranges_), choice->then, choice->otherwise);
  });
}

}  // namespace isomer::kernel
