#include "kernel/padding.h"

#include <algorithm>
#include <set>

#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// `asked`: buffers whose elements are being asked for; what is made of itself is not known.
bool is_finite(const Kernel& kernel, const Expr& value, std::set<int>& asked) {
  if (is_int(value.dtype())) return true;
  if (value == te::literal(0, value.dtype())) return true;
  if (const auto* select = te::as<te::Select>(value))
    return is_finite(kernel, select->then, asked) && is_finite(kernel, select->otherwise, asked);
  // Wider types have room for all of a narrower one.
  if (const auto* cast = te::as<te::Cast>(value)) {
    const DataType narrow = cast->operand.dtype();
    return is_float(narrow) && bit_width(narrow) < bit_width(value.dtype()) && is_finite(kernel, cast->operand, asked);
  }
  const auto* load = te::as<te::Load>(value);
  if (!load) return false;
  const int buffer = load->buffer.index;
  if (kernel.buffers[static_cast<size_t>(buffer)].is_constant) return true;
  const std::vector<std::string> makers = writers(kernel, buffer);
  if (makers.empty() || !asked.insert(buffer).second) return false;
  const bool all = std::all_of(makers.begin(), makers.end(), [&](const std::string& name) {
    const Block& maker = *place_of_block(kernel, name).block;
    return !maker.is_reduction() && std::all_of(maker.bodies.begin(), maker.bodies.end(),
                                                [&](const Expr& body) { return is_finite(kernel, body, asked); });
  });
  asked.erase(buffer);
  return all;
}

/// The axes of an index that is each of them once, [i0, i2, i1]; none of any other.
std::vector<int> axes_of(const std::vector<Expr>& index) {
  std::vector<int> axes;
  for (const Expr& dim : index) {
    const auto* variable = te::as<te::Var>(dim);
    if (!variable || variable->kind != te::VarKind::kSpatial || std::ranges::count(axes, variable->index) > 0)
      return {};
    axes.push_back(variable->index);
  }
  return axes;
}

}  // namespace

Expr at_least_zero(const Expr& comparison) {
  const auto* e = te::as<te::Binary>(comparison);
  if (!e || (e->op != te::BinaryOp::kLess && e->op != te::BinaryOp::kLessEqual) || e->left.dtype() != DataType::kInt64)
    return {};
  return e->op == te::BinaryOp::kLess ? e->right - e->left - te::index(1) : e->right - e->left;
}

std::optional<Expr> over_index(const Expr& condition, const std::vector<Expr>& index) {
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) {
    const auto left = over_index(e->left, index), right = over_index(e->right, index);
    return left && right ? std::optional(*left && *right) : std::nullopt;
  }
  const Expr gap = at_least_zero(condition);
  if (!gap) return std::nullopt;
  // gap = rest + index[k], or rest - index[k], with a constant rest.
  for (size_t k = 0; k < index.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    if (const Expr rest = te::simplify_index(gap - index[k]); te::as_constant(rest)) return te::index(0) <= rest + axis;
    if (const Expr rest = te::simplify_index(gap + index[k]); te::as_constant(rest)) return te::index(0) <= rest - axis;
  }
  return std::nullopt;
}

std::vector<te::Interval> bounded_axes(const Expr& condition, size_t rank) {
  std::vector<te::Interval> result(rank);
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) {
    result = bounded_axes(e->left, rank);
    const std::vector<te::Interval> right = bounded_axes(e->right, rank);
    for (size_t k = 0; k < rank; ++k) {
      if (right[k].low) result[k].low = result[k].low ? std::max(*result[k].low, *right[k].low) : *right[k].low;
      if (right[k].high) result[k].high = result[k].high ? std::min(*result[k].high, *right[k].high) : *right[k].high;
    }
    return result;
  }
  const Expr gap = at_least_zero(condition);
  if (!gap) return result;
  for (size_t k = 0; k < rank; ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    if (const auto rest = te::as_constant(te::simplify_index(gap - axis))) result[k].low = -*rest;
    if (const auto rest = te::as_constant(te::simplify_index(gap + axis))) result[k].high = rest;
  }
  return result;
}

std::optional<PaddedCopy> padded_copy(const Kernel& kernel, int buffer) {
  const std::vector<std::string> makers = writers(kernel, buffer);
  if (makers.size() != 1) return std::nullopt;
  const Block& copier = *place_of_block(kernel, makers[0]).block;
  const auto* select = copier.bodies.size() == 1 ? te::as<te::Select>(copier.bodies[0]) : nullptr;
  const size_t rank = copier.axes.size();
  const std::vector<int> axes = axes_of(copier.writes[0].index);
  if (copier.is_reduction() || !select || axes.size() != rank ||
      !over_index(select->condition, te::axes(static_cast<int>(rank))))
    return std::nullopt;
  const std::vector<te::Interval> bounded = bounded_axes(select->condition, rank);
  PaddedCopy copy{select->otherwise, {}};
  for (const int axis : axes) copy.interior.push_back(bounded[static_cast<size_t>(axis)]);
  return copy;
}

bool is_finite(const Kernel& kernel, const Expr& value) {
  std::set<int> asked;
  return is_finite(kernel, value, asked);
}

}  // namespace isomer::kernel
