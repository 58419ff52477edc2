// What of a kernel depends on constants alone: packed weights.
#pragma once

#include <set>

#include "kernel/loop_nest.h"

namespace isomer {

struct ConstantParts {
  kernel::Kernel kernel;     ///< the root statements that read constants only
  std::vector<int> buffers;  ///< that they write and others read
};

/// Moves them out of `kernel`. `constants` are numbers of inputs.
ConstantParts take_constant_parts(kernel::Kernel& kernel, const std::set<int>& constants);

}  // namespace isomer
