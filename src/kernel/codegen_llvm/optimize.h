// From LLVM's intermediate form to objects.
#pragma once

#include "kernel/codegen_llvm/llvm.h"

namespace isomer::kernel::codegen {

/// Inlines micro-kernels, makes values of local variables, moves what loops don't change out of them, removes what is
/// repeated. Loops are neither vectorized nor unrolled nor turned into calls: schedules decide that.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
/// An ELF object, or assembly.
std::string emitted(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type);

}  // namespace isomer::kernel::codegen
