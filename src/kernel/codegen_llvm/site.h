// Where code is being written, and for what.
#pragma once

#include "kernel/codegen_llvm.h"
#include "kernel/codegen_llvm/types.h"
#include "kernel/unsupported.h"

namespace isomer::kernel::codegen {

struct Site {
  Builder& build;
  const CpuTarget& target;
  llvm::Value* frame;  ///< the part's runtime::Frame*
};

}  // namespace isomer::kernel::codegen
