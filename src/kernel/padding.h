// Selects that bound an index: what a padding's program is made of.
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// The condition with axis(k) for index[k], where each of its comparisons is one of index[k] with constants.
std::optional<Expr> over_index(const Expr& condition, const std::vector<Expr>& index);

/// By axis: where such a condition holds.
std::vector<te::Interval> bounded_axes(const Expr& condition, size_t rank);

}  // namespace isomer::kernel
