// Sums of products of words' parts, by the instructions that x86 has for them.
#pragma once

#include "kernel/codegen_llvm/site.h"

namespace isomer::kernel::codegen {

/// `sums`, int32, plus the dot of the words `a` and `b` (words.h) of so many parts; all of them have equally many
/// lanes. nullptr: the target has no instruction for it.
llvm::Value* add_dot_of_words(const Site& site, int parts, llvm::Value* sums, llvm::Value* a, llvm::Value* b);

}  // namespace isomer::kernel::codegen
