// The code of a statement of a kernel.
#pragma once

#include <set>

#include "kernel/codegen_llvm.h"
#include "kernel/codegen_llvm/llvm.h"
#include "kernel/codegen_llvm/micro_kernels.h"

namespace isomer::kernel::codegen {

struct PartCode {
  int64_t iterations = 1;
  int64_t scratch_bytes = 0;
  std::set<int> private_buffers;
};

/// Adds a function with the type of runtime::PartFunction to the module, for a root statement or, where `turns` is
/// given, one in that loop. Throws Unsupported.
PartCode emit_part(llvm::Module& module, const CpuTarget& target, LinkedMicroKernels& micro_kernels,
                   const Kernel& kernel, const Statement& statement, const Loop* turns, const std::string& name);
/// How functions of the module are compiled: for the target, without calls of what LLVM takes for a library's.
void set_attributes(llvm::Function& function, const CpuTarget& target);

}  // namespace isomer::kernel::codegen
