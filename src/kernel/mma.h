// Products of halves by tensor cores: mma.sync.m16n8k16 of the PTX ISA (9.7.14.5), in which the 32 threads of a warp
// add the product of a 16 by 16 and a 16 by 8 matrix to sums in their registers.
//
// The tile that threads 4 wide and 8 high compute in registers anyway, each its own rows and columns, is what such
// instructions compute, whichever of a thread's rows and columns are taken for those that they give to its lane: two
// rows and two columns at a time. `tensorize` marks the loop over 16 steps, which stays, and stays the meaning; what
// threads fetch for each other is decided when code is made. Tests: tests/cuda/mma_test.cpp
#pragma once

#include <vector>

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// As `tensorize` calls it.
inline constexpr std::string_view kMmaName = "mma.m16n8k16";
/// Annotation of the loop over its steps.
inline constexpr const char* kMma = "mma";

inline constexpr int64_t kMmaSteps = 16;
/// Threads of a warp along x and y.
inline constexpr int64_t kMmaWide = 4, kMmaHigh = 8;

/// Whether it is a product of two halves of one type, read from memory and converted to float32.
bool is_product_of_halves(const Expr& product);

/// What stands in a marked loop.
struct MmaCall {
  const Loop* steps = nullptr;
  const Block* block = nullptr;
  const Loop *rows = nullptr, *columns = nullptr;  ///< those of a thread: an even number each
  const Loop *thread_y = nullptr, *thread_x = nullptr;
  std::vector<const Loop*> single;     ///< other loops inside, of one iteration
  Expr rows_element, columns_element;  ///< loads of the operands, over loop variables
  Expr rows_inside, columns_inside;    ///< when a thread's row (column) is one of the product; empty: always
  bool is_bfloat = false;
};

/// Errors: it is none, by what is missing. `around`: the loops around the marked one, outermost first.
Result<MmaCall> mma_call(const Kernel& kernel, const Loop& steps, const std::vector<const Loop*>& around);

}  // namespace isomer::kernel
