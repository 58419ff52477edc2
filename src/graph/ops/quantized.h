// Rounding to quantized integers, for operators that compute on them.
#pragma once

#include "graph/op_context.h"

namespace isomer::ops {

/// saturate(round_half_even(value) + zero_point) in `dtype`, an integer of at most 16 bits; the value is of float32 or
/// float64: what float32 does not add exactly is beyond the type's range.
te::Expr requantize(te::Expr value, te::Expr zero_point, DataType dtype);

/// Input i, of one element, in another type; 0 where it is absent.
te::Expr scalar(const OpContext& context, int i, DataType dtype);
/// An error unless these inputs are absent or of one element.
Result<void> check_scalars(const OpContext& context, std::initializer_list<int> inputs);
/// The number, of float32, that a quantized element stands for; its scale is input `scale`, its zero point the one
/// behind that.
te::Expr number(const OpContext& context, const te::Expr& element, int scale);
/// The element that stands for a number; the scale is input `scale`, the zero point the one behind it.
te::Expr quantized(const OpContext& context, const te::Expr& value, int scale, DataType dtype);

/// Floats as uint8, with the scale and zero point that their range asks for, extended to hold 0.
struct DynamicBytes {
  te::StageValue y, scale, zero;
};
/// Input i, of float32, so.
DynamicBytes dynamic_bytes(te::Program& program, const OpContext& context, int i);

}  // namespace isomer::ops
