// The operations of tensor expressions on values of any number of lanes; both operands have equally many.
#pragma once

#include "kernel/codegen_llvm/site.h"

namespace isomer::kernel::codegen {

llvm::Value* apply(const Site& site, te::UnaryOp op, DataType dtype, llvm::Value* x);
/// `dtype` is that of the operands. Integers are divided by what is not 0.
llvm::Value* apply(const Site& site, te::BinaryOp op, DataType dtype, llvm::Value* a, llvm::Value* b);

}  // namespace isomer::kernel::codegen
