#include "graph/element_map.h"

#include <algorithm>

#include "graph/te/program.h"
#include "graph/te/simplify.h"

namespace isomer {
namespace {

using te::Expr;

const te::Var* as_axis(const Expr& expr) {
  const te::Var* var = te::as<te::Var>(expr);
  return var && var->kind == te::VarKind::kSpatial ? var : nullptr;
}

te::Ranges ranges_of(const Shape& extents) {
  return [&extents](const Expr& leaf) -> te::Interval {
    if (!te::as<te::Var>(leaf))
      return {te::as<te::Symbol>(leaf) ? std::optional<int64_t>(0) : std::nullopt, std::nullopt};
    const te::Var* axis = as_axis(leaf);
    if (!axis || static_cast<size_t>(axis->index) >= extents.size()) return {0, std::nullopt};
    const Dim& extent = extents[axis->index];
    return {0, extent.is_constant() ? std::optional(std::max<int64_t>(extent.value() - 1, 0)) : std::nullopt};
  };
}

Expr row_major(const std::vector<Expr>& index, const Shape& shape) {
  Expr position = te::index(0);
  for (size_t k = 0; k < shape.size(); ++k) position = position * shape[k].expr() + index[k];
  return position;
}

}  // namespace

ElementMap identity_map(const ValueType& type) {
  std::vector<Expr> index;
  for (size_t k = 0; type.has_shape() && k < type.shape->size(); ++k)
    index.push_back(normal_index(te::axis(static_cast<int>(k)), *type.shape));
  return {type, type, std::move(index)};
}

bool keeps_places(const ElementMap& map) {
  if (map.from.kind != map.to.kind || map.from.shape != map.to.shape) return false;
  for (size_t k = 0; k < map.index.size(); ++k)
    if (axis_of(map.index[k]) != static_cast<int>(k) &&
        !((*map.from.shape)[k].is(1) && te::as_constant(map.index[k]) == 0))
      return false;
  return true;
}

bool keeps_order(const ElementMap& map) {
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  if (!(element_count(from) == element_count(to))) return false;
  return normal_index(row_major(map.index, from), to) ==
         normal_index(row_major(te::axes(static_cast<int>(to.size())), to), to);
}

bool only_moves(const ElementMap& map) {
  return map.from.has_shape() && map.to.has_shape() && map.from.dtype == map.to.dtype;
}

bool is_same_index(const ElementMap& map, const std::vector<Expr>& index) {
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  if (index.size() != map.index.size()) return false;
  const auto same = [&](const Expr& a, const Expr& b) { return normal_index(a, to) == normal_index(b, to); };
  return std::equal(index.begin(), index.end(), map.index.begin(), same) ||
         same(row_major(index, from), row_major(map.index, from));
}

std::optional<int> axis_of(const Expr& index) {
  const te::Var* axis = as_axis(index);
  return axis ? std::optional(axis->index) : std::nullopt;
}

std::optional<Stride> stride_of(const ElementMap& map, size_t k) {
  const Shape& to = *map.to.shape;
  if (k >= to.size() || !to[k].is_constant() || to[k].value() < 1) return std::nullopt;
  std::vector<Expr> places = te::axes(static_cast<int>(to.size()));
  const auto position = [&](int64_t at) {
    places[k] = te::index(at);
    return te::as_constant(normal_index(with_axes(map.index[k], places), to));
  };
  const auto first = position(0), second = position(1);
  if (!first || !second) return std::nullopt;
  const Stride stride{*first, to[k].is(1) ? 1 : *second - *first};
  const Expr along = te::index(stride.start) + te::index(stride.step) * te::axis(static_cast<int>(k));
  return map.index[k] == normal_index(along, to) ? std::optional(stride) : std::nullopt;
}

namespace {

/// Iterators of axes that have one element are 0.
Expr without_single(const Expr& expr, const Shape& extents) {
  return te::transform(expr, [&](const Expr& node) {
    const te::Var* axis = as_axis(node);
    const bool is_single = axis && static_cast<size_t>(axis->index) < extents.size() && extents[axis->index].is(1);
    return is_single ? te::index(0) : Expr();
  });
}

}  // namespace

Expr normal_index(const Expr& expr, const Shape& extents) {
  return te::simplify_index(without_single(expr, extents), ranges_of(extents));
}

Expr normal_data(const Expr& expr, const Shape& extents) {
  return te::simplify_data(without_single(expr, extents), ranges_of(extents));
}

Expr with_axes(const Expr& expr, const std::vector<Expr>& index) {
  return te::transform(expr, [&](const Expr& node) {
    const te::Var* axis = as_axis(node);
    return axis ? index[axis->index] : Expr();
  });
}

}  // namespace isomer
