// Real types of 16 bits, which are computed with as float32: values are rounded where they are stored, cast or
// compared.
#pragma once

#include <functional>

#include "graph/te/program.h"

namespace isomer::kernel {

inline bool is_narrow_float(DataType dtype) { return is_float(dtype) && bit_width(dtype) == 16; }

/// Whether code may compute for the expression what its narrow type does not have. `is_kept_wide(b)`: what is stored in
/// buffer b is not rounded either.
bool is_unrounded(const te::Expr& expr, const std::function<bool(int)>& is_kept_wide);

/// Whether the operands of a comparison are rounded first, as each of them may be stored elsewhere, rounded: an element
/// would be greater than the greatest. Beside a zero only where a small number is rounded to it: bfloat16 has float32's
/// exponents.
bool compares_rounded(const te::Binary& e);

/// Whether a reduction's values are rounded before they are combined: components of one are chosen by another, and what
/// was chosen so far has been stored.
bool combines_rounded(const te::Monoid& combine);

}  // namespace isomer::kernel
