// Whether all iterations of a vectorized loop can be made at once.
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// No: control flow depends on the loop's variable, or one element is written by several iterations that are not terms
/// of one reduction. Such loops run one iteration after the other.
bool is_vectorizable(const Loop& loop);

}  // namespace isomer::kernel
