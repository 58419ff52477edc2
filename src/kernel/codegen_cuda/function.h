// The text of one `__global__` function.
#pragma once

#include "kernel/codegen_cuda.h"

namespace isomer::kernel::cuda {

struct Function {
  std::string text;
  std::vector<int> buffers;  ///< as CudaLaunch has them
  int64_t shared_bytes = 0;
};

/// Of a statement of the kernel, barriers in it, or of one in the loop `turns`. Throws Unsupported.
Function print_function(const Kernel& kernel, const Statement& statement, const Loop* turns, const std::string& name);

}  // namespace isomer::kernel::cuda
