// What an operator that only moves elements does, as indices. Rows say by it which maps they do by themselves
// (OpDef::spell), passes what a chain of nodes does as a whole.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/te/expr.h"

namespace isomer {

/// out[i] = in[index(i)], converted where the types of elements differ.
struct ElementMap {
  ValueType from, to;
  /// An int64 expression over axis(k) of `to` for each axis of `from`, as normal_index has it. None where the shape is
  /// not known: the map keeps all places.
  std::vector<te::Expr> index;
};

/// Of a value that is given on as it is.
ElementMap identity_map(const ValueType& type);

/// out[i] is in[i], or that converted.
bool keeps_places(const ElementMap& map);
/// The elements stand in the same row-major order, of however many axes.
bool keeps_order(const ElementMap& map);
/// The shapes are known, and no element is converted.
bool only_moves(const ElementMap& map);
/// out[i] is the same element of the source under either index.
bool is_same_index(const ElementMap& map, const std::vector<te::Expr>& index);

/// The axis that an index is, by itself.
std::optional<int> axis_of(const te::Expr& index);
/// start + step * axis(k).
struct Stride {
  int64_t start = 0, step = 1;
};
/// Of a source's axis k that runs along the output's axis k, of known extent.
std::optional<Stride> stride_of(const ElementMap& map, size_t k);

/// In normal form over axes of these extents; an axis of extent 1 is at 0.
te::Expr normal_index(const te::Expr& expr, const Shape& extents);
/// The same of an element over these axes (te::simplify_data).
te::Expr normal_data(const te::Expr& expr, const Shape& extents);
/// The expression where axis(k) is index[k].
te::Expr with_axes(const te::Expr& expr, const std::vector<te::Expr>& index);

}  // namespace isomer
