// Kernels as machine code of the CPU, run by threads.
#pragma once

#include <memory>

#include "runtime/kernel_runner.h"
#include "runtime/workers.h"

namespace isomer::runtime {

/// Model, table and workers outlive it. Errors (kUnsupported): memory.
Result<std::unique_ptr<KernelRunner>> cpu_kernels(const Model& model, const Variant& variant, ValueTable& table,
                                                  Workers& workers);

}  // namespace isomer::runtime
