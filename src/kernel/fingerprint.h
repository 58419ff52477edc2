// What times of kernels depend on besides the kernels: the keys of records.
#pragma once

#include <string>

#include "kernel/codegen_llvm.h"

namespace isomer::kernel {

/// "znver3-5f1d8c03 x2": the CPU that code is made for, a digest of what it may use there, threads; and this machine's
/// CPU where that is another one.
std::string fingerprint(const CpuTarget& target, int threads);

/// Of what schedules and makes code, LLVM included. It must change with whatever makes the same task's code faster or
/// slower.
std::string generator_version();

}  // namespace isomer::kernel
