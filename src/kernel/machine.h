// The machine that a schedule is for.
#pragma once

#include "graph/te/dtype.h"
#include "kernel/micro_tile.h"

namespace isomer::kernel {

struct Machine {
  VectorUnit vectors = kAvx2;
  int threads = 1;
  // False, to measure what they give:
  bool packing = true;      ///< operands are copied into the order in which tiles read them
  bool micro_tiles = true;  ///< results of reductions are held in registers, tiles of them

  int lanes(DataType dtype) const;
};

}  // namespace isomer::kernel
