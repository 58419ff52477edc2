// What can be said of places in buffers whose sizes data decide. Test: tests/kernel/open_sizes_test.cpp
#pragma once

#include <set>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// The sizes that a kernel is called with: elements of inputs that shapes of its buffers read, and that nothing writes.
class OpenSizes {
 public:
  explicit OpenSizes(const Kernel& kernel);

  /// Whether it loads something else.
  bool reads_data(const Expr& expr) const;
  /// Whether nothing but such sizes and literals decides the expression, so that it has one value in a call.
  bool decide(const Expr& expr) const;
  /// Whether 0 <= index < size for all iterations of the loops, whatever the sizes are: the largest and the smallest
  /// index are those of first or last iterations, and differences of polynomials of sizes. `index` is over loop
  /// variables.
  bool are_around(const Expr& index, const Expr& size, const LoopRanges& loops) const;

 private:
  std::set<int> buffers_;
};

}  // namespace isomer::kernel
