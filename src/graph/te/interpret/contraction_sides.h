// Recognizes sums of products and divides their factors and iterators into the two sides of a matrix product.
#pragma once

#include <optional>
#include <vector>

#include "graph/te/interpret/axes.h"
#include "graph/te/interpret/lowered.h"
#include "graph/te/program.h"

namespace isomer::te::interpreter {

/// Σ over depth of left · right for each batch, row and column. The left depends on batch, row and depth only, the
/// right on batch, column and depth.
struct Sides {
  int left = -1, right = -1;  ///< nodes of a real type
  Group batch, rows, columns, depth;
  /// A condition around the product was left out of the side: where it fails the other side is 0, which hides what the
  /// side has there only if that is finite.
  bool left_must_be_finite = false, right_must_be_finite = false;
};

/// Nothing where the stage is no such sum, or where its integers could leave the range in which doubles are exact. Adds
/// the nodes of the sides.
std::optional<Sides> find_sides(Lowered& lowered, const MapReduce& stage);

}  // namespace isomer::te::interpreter
