// The inner loop of matrix products in double precision, for the best instruction set of this machine.
#pragma once

#include <cstdint>

namespace isomer::te::interpreter {

struct MicroKernel {
  int rows;  ///< of a tile
  int columns;
  /// tile[rows][columns] = Σ_k a[k][rows] * b[k][columns], all contiguous; b and tile 64-byte aligned.
  void (*run)(int64_t depth, const double* a, const double* b, double* tile);
};

const MicroKernel& micro_kernel();

}  // namespace isomer::te::interpreter
