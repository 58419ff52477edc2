// How large the tiles of a product of matrices are on a GPU, by an estimate of what they take.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/mma.h"

namespace isomer::kernel {

/// Results of a thread and of a block of threads, along rows and columns, and steps of the reduction at a time.
struct ProductPlan {
  size_t row_axis = 0, column_axis = 0, reduce_axis = 0;
  int64_t rows = 1, columns = 1, threads_y = 1, threads_x = 1, steps = 1;
  /// Of an axis along which the rows' operand stays where it is, so many together: images of a batch, say. A thread has
  /// as many times its columns then.
  std::optional<size_t> image_axis = std::nullopt;
  int64_t images = 1;
  int64_t parts = 1;              ///< of the reduction, by blocks of threads of their own
  const MmaShape* mma = nullptr;  ///< by tensor cores, and which of their instructions
  int64_t stages = 1;             ///< places in shared memory
  double cycles = 0;              ///< by the estimate
  int64_t threads() const { return threads_x * threads_y; }
  // By tensor cores:
  int64_t shared_bytes() const;
  /// Of a turn, where a part of the reduction has so many.
  int64_t most_steps(int64_t of_part) const { return of_part % (2 * mma->steps) == 0 ? 2 * mma->steps : mma->steps; }
};

/// Of another launch that moves so many bytes.
double cycles_of_launch(int64_t bytes);
/// As many as shared memory holds, up to four.
int64_t most_stages(ProductPlan plan);

/// Operations that fetching an element of an operand takes: in a loop, of a window, of a window whose place is found
/// for several channels, as part of what is stored at once, as part of a vector.
inline constexpr double kOperationsOfFetch = 8, kOperationsOfWindow = 40, kOperationsOfChannel = 17,
                        kOperationsOfStore = 17, kOperationsOfVector = 2;

/// A product, `others` times: its results and steps, each of which is taken at so many places, and what fetching an
/// element of an operand takes, in operations.
struct ProductSize {
  int64_t others = 1, rows = 1, columns = 1, length = 1, places = 1;
  double operations_of_row = kOperationsOfFetch, operations_of_column = kOperationsOfFetch;
  int64_t most_images = 1;
};

/// Multiply-adds of a thread between two barriers that are written out.
inline constexpr int64_t kMostWrittenOut = 1024;

/// Up to `most`.
std::vector<int64_t> divisors(int64_t length, int64_t most);

/// `axes` with the cheapest of some tiles and numbers of parts. Constants are those of an H100, and what layers took on
/// an H200 (bench/gpu_sweep.cpp).
ProductPlan cheapest(const ProductPlan& axes, const ProductSize& size);

}  // namespace isomer::kernel
