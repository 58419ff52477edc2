// Micro-kernels as functions of the module that calls them.
#pragma once

#include <map>

#include "kernel/codegen_llvm.h"
#include "kernel/codegen_llvm/llvm.h"
#include "kernel/micro_kernel.h"

namespace isomer::kernel::codegen {

class LinkedMicroKernels {
 public:
  /// All outlive it; functions become the module's.
  LinkedMicroKernels(llvm::Module& module, llvm::TargetMachine& machine, const CpuTarget& target)
      : module_(module), machine_(machine), target_(target) {}

  /// The function of its text, to be inlined wherever it is called. Throws Unsupported: the text is none, or it asks
  /// for what the target has not.
  llvm::Function* function_of(const MicroKernel& micro_kernel);

 private:
  llvm::Module& module_;
  llvm::TargetMachine& machine_;
  const CpuTarget& target_;
  std::map<std::string, llvm::Function*> known_;
};

}  // namespace isomer::kernel::codegen
