// Real types of 16 bits, which are computed with as float32.
#pragma once

#include "graph/te/dtype.h"

namespace isomer::kernel {

inline bool is_narrow_float(DataType dtype) { return is_float(dtype) && bit_width(dtype) == 16; }

}  // namespace isomer::kernel
