// Rounding to quantized integers, for operators that compute on them.
#pragma once

#include "graph/op_context.h"

namespace isomer::ops {

/// saturate(round_half_even(value) + zero_point) in `dtype`, an integer of at most 16 bits; the value is of float32 or
/// float64: what float32 does not add exactly is beyond the type's range.
te::Expr requantize(te::Expr value, te::Expr zero_point, DataType dtype);

}  // namespace isomer::ops
