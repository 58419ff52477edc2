// Products by tensor cores: mma.sync of the PTX ISA (9.7.14.5), in which the 32 threads of a warp add the product of a
// 16 by 16 and a 16 by 8 matrix of halves to sums in their registers, or that of a 16 by 8 and an 8 by 8 matrix of
// floats, which are rounded to tf32 before: to 11 significant bits, ties away from zero. Whoever asks for these grants
// that (Machine::tf32); what they mean stays a product of floats.
//
// The tile that threads 4 wide and 8 high compute in registers anyway, each its own rows and columns, is what such
// instructions compute, whichever of a thread's rows and columns are taken for those that they give to its lane: two
// rows and two columns at a time. `tensorize` marks the loop over the steps, which stays, and stays the meaning; what
// threads fetch for each other is decided when code is made. Tests: tests/cuda/mma_test.cpp
#pragma once

#include <vector>

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// Annotation of the loop over its steps.
inline constexpr const char* kMma = "mma";

/// One of these instructions. Of a row of the first operand, and of a column of the second, four lanes have 16 bytes,
/// twice, whatever the elements are.
struct MmaShape {
  std::string_view name;  ///< as `tensorize` calls it
  int64_t steps;
  int64_t elements;                               ///< of an operand in a register
  int64_t bytes() const { return 4 / elements; }  ///< of such an element
};
inline constexpr MmaShape kMmaOfHalves = {"mma.m16n8k16", 16, 2}, kMmaOfFloats = {"mma.m16n8k8.tf32", 8, 1};
/// nullptr: none is called so.
const MmaShape* mma_shape(std::string_view name);

/// Threads of a warp along x and y.
inline constexpr int64_t kMmaWide = 4, kMmaHigh = 8;

/// What computes sums of this: of products of two halves of one type, read from memory and converted to float32, or of
/// two such floats. nullptr: nothing does.
const MmaShape* mma_of(const Expr& product);

/// What stands in a marked loop.
struct MmaCall {
  const MmaShape* shape = nullptr;
  DataType operands = DataType::kUndefined;
  const Loop* steps = nullptr;
  const Block* block = nullptr;
  const Loop *rows = nullptr, *columns = nullptr;  ///< those of a thread: an even number each
  const Loop *thread_y = nullptr, *thread_x = nullptr;
  std::vector<const Loop*> single;     ///< other loops inside, of one iteration
  Expr rows_element, columns_element;  ///< loads of the operands, over loop variables
  Expr rows_inside, columns_inside;    ///< when a thread's row (column) is one of the product; empty: always
};

/// Errors: it is none, by what is missing. `around`: the loops around the marked one, outermost first.
Result<MmaCall> mma_call(const Kernel& kernel, const Loop& steps, const std::vector<const Loop*>& around);

}  // namespace isomer::kernel
