// Products of matrices with their batch dims, and of integers that have zero points: what rows of products share.
#pragma once

#include "graph/op_context.h"

namespace isomer::ops {

/// numpy's matmul. A vector on the left is a row, one on the right a column, and their dim is dropped.
struct Matmul {
  int a, b;  ///< which inputs
  Shape out = {};
  Dim inner = 0;
  std::vector<te::Expr> a_index = {}, b_index = {};  ///< positions over axis(…) of out and reduce_axis(0)
  /// Position of the row and the column among the axes of out; index 0 where the operand is a vector.
  te::Expr row = te::index(0), column = te::index(0);
};
/// Of inputs a and b, or of operands with these shapes that are made of them.
Result<Matmul> matmul_of(const OpContext& context, int a, int b);
Result<Matmul> matmul_of(const OpContext& context, int a, int b, const Shape& left, const Shape& right);

/// The element of a scale or zero point (input i) that belongs to position `index` of an operand of `shape`; a vector
/// has one element per position of `axis`.
te::Expr load_parameter(const OpContext& context, int i, const Shape& shape, const std::vector<te::Expr>& index,
                        size_t axis);
/// Scales and zero points are scalars, vectors over `axis`, or of the operand's rank with 1 where not over `axis` or a
/// batch dim.
Result<void> check_parameter(const OpContext& context, int i, const Shape& shape, size_t axis);
/// The axis of an operand's rows.
size_t row_axis(const Shape& shape);

/// Σ (a - a_zero) * (b - b_zero) in int32; an absent zero point is 0. They are one for all, or one a row of A and a
/// column of B, with or without batch dims.
Result<te::StageValue> integer_product(const OpContext& context, te::Program& program, const Matmul& matmul, int a_zero,
                                       int b_zero);

}  // namespace isomer::ops
