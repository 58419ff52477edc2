// Resize and Upsample: values between the elements of a grid whose axes are stretched.
#pragma once

#include "graph/op_def.h"

namespace isomer::ops {

OpDef resize_row();
OpDef upsample_row();

/// The cubic convolution kernel with coefficient a at distance x (Keys 1981, equation 4); 0 from 2 on.
te::Expr cubic_kernel(const te::Expr& distance, const te::Number& a);

}  // namespace isomer::ops
