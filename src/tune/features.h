// What a cost model looks at: numbers read off a scheduled kernel, a row for each block of it (Ansor's per-store
// features: Zheng et al. 2020, appendix B; ours say instead which caches what is touched lies in). No code is made.
// Test: tests/tune/features_test.cpp
#pragma once

#include <array>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/machine.h"
#include "tune/trees.h"

namespace isomer::tune {

inline constexpr size_t kAccessesOfARow = 4, kColumnsOfAnAccess = 8, kOtherColumns = 25;
inline constexpr size_t kColumns = kOtherColumns + kAccessesOfARow * kColumnsOfAnAccess;
using FeatureRow = std::array<float, kColumns>;
/// By block, in order.
using Features = std::vector<FeatureRow>;

/// Counts and bytes are binary logarithms of 1 + them. What data decide counts as 1.
Features features_of(const kernel::Kernel& kernel, const kernel::Machine& machine);

/// A candidate whole: its largest block, and of all blocks the largest and the sum of each column. Ansor's trees give a
/// number for each block, which are summed; of a task that none was learned of the first choice then had 0.78 of the
/// fastest trial's speed (bench/README.md, Tuning), and has 0.95 so.
Row row_of(const Features& features);

}  // namespace isomer::tune
