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

/// Columns of a block. Counts and bytes are binary logarithms of 1 + them; of a point: operations.
enum Column : size_t {
  kPoints,
  kSums,
  kDivisions,
  kFunctions,
  kComparisons,
  kIntegers,
  kIsReduction,
  kCondition,  ///< 0: none, 1: the same within what is written out, 2: the same for all lanes, 3: another by lane
  kLanes,
  kUnrolled,
  kInnermost,  ///< iterations of the loop right around what is written out
  kParallel,
  kLoops,
  kMicroKernels,
  kAskedAhead,
  kScope,
  kBits,
  kResults,     ///< lines of what is written in what is written out
  kVectors,     ///< vectors that are written out
  kRoundBytes,  ///< that a round of the innermost loop touches
  kPastFirst,   ///< bytes that come from beyond the first level of cache
  kPastSecond,
  kTouched,  ///< bytes in all
  kPointsPerFirst,
  kPointsPerSecond,
  kOtherColumns,
};
/// Columns of an access; zero where a block has fewer.
enum AccessColumn : size_t {
  kAccessScope,  ///< 1 + the scope
  kAccessIsConstant,
  kAccessTouched,
  kAccessTile,    ///< bytes in what is written out
  kAccessStride,  ///< between lanes: 0, 1, or 2 for any other
  kAccessReuse,   ///< of what lies there
  kAccessPastFirst,
  kAccessPastSecond,
  kColumnsOfAnAccess,
};
/// What is written, then what touches most.
inline constexpr size_t kAccessesOfARow = 4;
inline constexpr size_t kColumns = kOtherColumns + kAccessesOfARow * kColumnsOfAnAccess;
/// Of access k.
constexpr size_t column_of(size_t k, AccessColumn column) {
  return static_cast<size_t>(kOtherColumns) + k * kColumnsOfAnAccess + column;
}
using FeatureRow = std::array<float, kColumns>;
/// By block, in order.
using Features = std::vector<FeatureRow>;

/// What data decide counts as 1.
Features features_of(const kernel::Kernel& kernel, const kernel::Machine& machine);

/// A candidate whole: its largest block, and of all blocks the largest and the sum of each column. Ansor's trees give a
/// number for each block, which are summed; of a task that none was learned of the first choice then had 0.78 of the
/// fastest trial's speed (bench/README.md, Tuning), and has 0.95 so.
Row row_of(const Features& features);

}  // namespace isomer::tune
