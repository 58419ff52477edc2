// What expressions of a part mean at the place where code is being written.
#pragma once

#include <map>

#include "kernel/codegen_llvm/llvm.h"
#include "kernel/loop_nest.h"

namespace isomer::kernel::codegen {

struct Environment {
  std::map<int, llvm::Value*> loops;  ///< int64 values of loop variables: constants where loops are written out
  LoopRanges ranges;

  /// The vectorized loop around; its variable has the value <0, 1, …> of `lanes` lanes.
  int vector_variable = -1;
  int lanes = 1;
  /// The lanes that are active: a vector of bits; nullptr: all of them.
  llvm::Value* mask = nullptr;
  bool streams = false;  ///< whole vectors are stored past the caches

  /// The components of a monoid's operands.
  const std::vector<llvm::Value*>* left = nullptr;
  const std::vector<llvm::Value*>* right = nullptr;
};

}  // namespace isomer::kernel::codegen
