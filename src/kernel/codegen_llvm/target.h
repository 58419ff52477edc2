// What LLVM needs to know of a target.
#pragma once

#include <memory>

#include "kernel/codegen_llvm.h"
#include "kernel/codegen_llvm/llvm.h"

namespace isomer::kernel::codegen {

std::unique_ptr<llvm::TargetMachine> machine_for(const CpuTarget& target);

}  // namespace isomer::kernel::codegen
