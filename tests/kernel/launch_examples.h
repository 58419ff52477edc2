// Schedules for a GPU that tests try.
#pragma once

#include <stdexcept>

#include "kernel/examples.h"

namespace isomer::kernel::test {

/// The value; throws what went wrong.
template <class T>
T ok(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return *std::move(result);
}
inline void ok(Result<void> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
}

Example product();
/// Rows less their maximum.
Example rows();
/// Rows, as long as four warps, less their sum.
Example long_rows();

/// The product in tiles of 16x16 results by 8x8 threads, both operands through shared memory, 8 steps at a time. What
/// threads fetch together is as long as `fetchers`.
Schedule tiled(const Kernel& kernel, int64_t fetchers = 64);
/// A row a block of threads, its maximum in shared memory.
Schedule rows_in_blocks(const Kernel& kernel);
/// A long row a block of two warps; lanes bring together what they have. Of a kernel as that of `long_rows`.
Schedule rows_of_warps(const Kernel& kernel);

}  // namespace isomer::kernel::test
