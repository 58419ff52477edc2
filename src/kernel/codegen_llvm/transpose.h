// Square matrices in registers.
#pragma once

#include <vector>

#include "kernel/codegen_llvm/types.h"

namespace isomer::kernel::codegen {

/// Columns of what the rows were: as many vectors as each has lanes, 4, 8 or 16.
std::vector<llvm::Value*> transposed(Builder& build, const std::vector<llvm::Value*>& rows);

}  // namespace isomer::kernel::codegen
