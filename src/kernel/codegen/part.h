// The code of one root statement of a kernel.
#pragma once

#include <set>

#include "kernel/codegen/llvm.h"
#include "kernel/codegen_llvm.h"

namespace isomer::kernel::codegen {

struct PartCode {
  int64_t iterations = 1;
  int64_t scratch_bytes = 0;
  std::set<int> private_buffers;
};

/// Adds a function with the type of runtime::PartFunction to the module. Throws Unsupported.
PartCode emit_part(llvm::Module& module, const Target& target, const Kernel& kernel, const Statement& root, const std::string& name);

}  // namespace isomer::kernel::codegen
