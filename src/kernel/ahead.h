// What a loop is going to read in its next iteration: operands of reductions that come from far away are asked for
// while the iteration before is computed, bit by bit. Test: tests/kernel/ahead_test.cpp
#pragma once

#include <vector>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// Neighbours in an argument of the kernel.
struct NextRead {
  int buffer = -1;
  Expr first;            ///< the number of the first element, over variables of the loop and of those around it
  int64_t elements = 0;  ///< how many
  bool operator==(const NextRead&) const = default;
};

/// Of a reduction below the loop, all that it reads so. `inside`: the serial loops between, outermost first, of
/// constant extents; those below the last are a tile of registers.
std::vector<NextRead> next_reads(const Kernel& kernel, const Loop& loop, const std::vector<const Loop*>& inside,
                                 const te::Ranges& ranges);

}  // namespace isomer::kernel
