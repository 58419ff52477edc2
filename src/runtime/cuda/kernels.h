// Kernels as launches of a GPU. Spans of them become graphs of the driver, which are launched as one as long as no
// value moves.
#pragma once

#include <memory>

#include "runtime/cuda/resident.h"
#include "runtime/kernel_runner.h"

namespace isomer::runtime::cuda {

/// What it is given outlives it. `timed`: runs are measured. Errors (kUnsupported): memory.
Result<std::unique_ptr<KernelRunner>> gpu_kernels(const Model& model, const Variant& variant, const Resident& resident,
                                                  GpuDevice& device, const ValueTable& table, bool timed);

}  // namespace isomer::runtime::cuda
