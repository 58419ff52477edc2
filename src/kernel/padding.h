// Paddings: selects that bound an index, and where their zeros may be left out.
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// The condition with axis(k) for index[k], where each of its comparisons is one of index[k] with constants.
std::optional<Expr> over_index(const Expr& condition, const std::vector<Expr>& index);

/// What a comparison of integers says to be at least 0; empty for any other expression.
Expr at_least_zero(const Expr& comparison);

/// By axis: where such a condition holds.
std::vector<te::Interval> bounded_axes(const Expr& condition, size_t rank);

/// A buffer that one block fills: a copy of others, and `padding` around it.
struct PaddedCopy {
  Expr padding;
  std::vector<te::Interval> interior;  ///< by dim of the buffer, where it is no padding
};
std::optional<PaddedCopy> padded_copy(const Kernel& kernel, int buffer);

/// Whether a value is no infinity and no NaN, whatever the inputs: then its product with zero is zero. So are zero,
/// constants, copies of them, and integers.
bool is_finite(const Kernel& kernel, const Expr& value);

}  // namespace isomer::kernel
