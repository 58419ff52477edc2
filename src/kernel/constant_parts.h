// What of a kernel depends on constants alone: packed weights.
#pragma once

#include <vector>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

struct ConstantParts {
  Kernel kernel;             ///< the root statements that read constants only
  std::vector<int> buffers;  ///< that they write and others read
};

/// Moves them out of `kernel`.
ConstantParts take_constant_parts(Kernel& kernel);

}  // namespace isomer::kernel
