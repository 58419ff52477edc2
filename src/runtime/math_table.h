// The functions behind MathFunction (kernel_abi.h).
#pragma once

namespace isomer::runtime {

/// For Frame::math.
void (*const* math_table())();

}  // namespace isomer::runtime
