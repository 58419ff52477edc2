// The matrices of Winograd's algorithm, by Toom and Cook: for m results and r taps, a = m + r - 1 inputs, those of
//     Y = A^T [(G g) * (B^T d)]
// with polynomials evaluated at 0, 1, -1, 2, -2, 1/2, -1/2 and infinity (Lavin, Gray 2016; Winograd 1980).
#pragma once

#include <functional>
#include <vector>

#include "graph/te/expr.h"
#include "graph/tensor.h"

namespace isomer::ops {

/// Inputs of a tile along an axis: with more points than these rounding loses too many digits (reliability.md 3.6).
inline constexpr int64_t kLargestTile = 8;

/// Rows of rationals.
using Matrix = std::vector<std::vector<te::Number>>;

/// B^T, [a, a].
Matrix input_transform(int64_t a);
/// G, [a, r].
Matrix kernel_transform(int64_t a, int64_t r);
/// A^T, [m, a].
Matrix output_transform(int64_t m, int64_t a);

/// Row `which` of the matrix times the vector of `element`s: each row is a sum of its own, without its zeros.
te::Expr transformed(const Matrix& matrix, const te::Expr& which, const std::function<te::Expr(int64_t)>& element);

/// The elements of the Kronecker product of the matrices, [rows of all, columns of all], transposed if asked for, as a
/// tensor of this shape.
Tensor kronecker_product(const std::vector<Matrix>& matrices, DataType dtype, Dims shape, bool transposed);

}  // namespace isomer::ops
