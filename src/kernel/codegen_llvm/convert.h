// Between element types, and between registers and memory; values of any number of lanes. What rounding, wrapping and
// truncation mean is said in graph/te/algebra_floating.h.
#pragma once

#include "kernel/codegen_llvm/site.h"

namespace isomer::kernel::codegen {

llvm::Value* literal(Builder& build, const te::Number& number, DataType dtype);
llvm::Value* from_memory(const Site& site, DataType dtype, llvm::Value* stored);
llvm::Value* to_memory(const Site& site, DataType dtype, llvm::Value* value);
/// A number of a type, as what compares it or looks for extremes is to read it: where LLVM sees that a float was a
/// half, it does these on halves, and takes them lane by lane on a target that has no instructions for it.
llvm::Value* to_compare(const Site& site, DataType dtype, llvm::Value* value);
/// A float or double as a register value of a float type, rounded to it.
llvm::Value* rounded(const Site& site, DataType to, llvm::Value* value);
/// A te::Cast.
llvm::Value* converted(const Site& site, DataType from, DataType to, llvm::Value* value);

}  // namespace isomer::kernel::codegen
