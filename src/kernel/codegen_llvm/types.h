// Element types in registers and in memory, and vectors of them. A value of `n` lanes is a vector of n elements; one
// lane is a scalar.
#pragma once

#include <optional>
#include <vector>

#include "graph/te/dtype.h"
#include "kernel/codegen_llvm/llvm.h"

namespace isomer::kernel::codegen {

/// No two arguments of a call generate code: compilers evaluate them in orders of their own, and the same kernel is the
/// same code whatever Isomer was compiled by.
using Builder = llvm::IRBuilder<>;

/// float16 and bfloat16 are computed with as float, bool is one bit; elements of less than a byte have one.
llvm::Type* register_type(Builder& build, DataType dtype);
/// float16 and bfloat16 are 16 bits, bool is a byte that is 0 or not.
llvm::Type* memory_type(Builder& build, DataType dtype);

int lanes_of(const llvm::Value* value);
llvm::Type* widened(llvm::Type* scalar, int lanes);
/// The scalar in every lane; a vector of that many lanes stays itself.
llvm::Value* spread(Builder& build, llvm::Value* value, int lanes);
/// Lane k of a vector; a scalar is its own only lane.
llvm::Value* lane(Builder& build, llvm::Value* value, int k);
/// So many lanes of a vector, from `first` on; the vector itself where these are all.
llvm::Value* lanes_from(Builder& build, llvm::Value* value, int first, int count);
/// The lanes of vectors, one after the other.
llvm::Value* joined(Builder& build, const std::vector<llvm::Value*>& vectors);
/// Spreads the one that is a scalar where the other is a vector.
void match_lanes(Builder& build, llvm::Value*& a, llvm::Value*& b);
/// The lanes of a vector of integers, where they are known.
std::optional<std::vector<int64_t>> integers_of(const llvm::Value* vector);
/// A condition over lanes that holds in all of them (in none), whatever the data are.
bool is_always(const llvm::Value* condition);
bool is_never(const llvm::Value* condition);

}  // namespace isomer::kernel::codegen
