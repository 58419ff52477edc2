// What is moved, and by what, on the way to mutants of a convolution of x and w. Test:
// tests/substitutions/mutants_test.cpp
#pragma once

#include <vector>

#include "substitutions/mutate/shaped_term.h"

namespace isomer::substitutions {

/// One after the other.
using Moves = std::vector<Move>;

/// Of a result of this size that is cut into so many along an axis.
inline Dim tile_of(const Dim& size, const Dim& count) { return ceil_div(size, count); }

/// Of x: parts of its axes into channels and images, images into its axes, axes exchanged, pieces. The original's
/// result has this shape.
std::vector<Moves> data_moves(const Convolution& original, const Shape& result_shape);
/// Of w: parts of its axes into the channels of either side, sides exchanged, reversed; axes exchanged.
std::vector<Moves> weight_moves(const Convolution& original);

}  // namespace isomer::substitutions
