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
  /// Whether 0 <= index < size in all iterations of the loops in which the conditions hold, whatever the sizes are: the
  /// index is a polynomial that is smallest and largest in first or last iterations, or where a comparison says so. All
  /// are over loop variables.
  bool are_around(const Expr& index, const Expr& size, const LoopRanges& loops,
                  const std::vector<Expr>& conditions = {}) const;

 private:
  std::set<int> buffers_;
};

}  // namespace isomer::kernel
