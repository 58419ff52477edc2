// Compiles kernels and runs them in memory, on tensors.
#pragma once

#include <vector>

#include "graph/tensor.h"
#include "kernel/codegen_llvm.h"

namespace isomer::kernel::test {

struct Run {
  std::vector<Tensor> outputs;  ///< empty ones for outputs that the task does not have
  std::vector<Tensor> buffers;  ///< all arguments, by number
};

/// Runs all parts; parallel ones in three pieces. Buffers hold garbage before. Absent inputs are tensors of no type.
/// The error is that of `compile`, or "outcome: …" where a part reports one. Throws where memory around buffers was
/// written to.
Result<Run> run(const Kernel& kernel, const std::vector<Tensor>& inputs, const CpuTarget& target);

}  // namespace isomer::kernel::test
