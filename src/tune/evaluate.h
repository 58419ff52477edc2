// How good a cost model's choices are among schedules that it has not seen, of tasks that it has not seen.
// Test: tests/tune/evaluate_test.cpp
#pragma once

#include <set>
#include <vector>

#include "kernel/records.h"

namespace isomer::tune {

/// As fast as the best trial of a task is what was chosen of its trials: 1 is the best, the mean over tasks (TenSet:
/// Zheng et al. 2021, top-k).
struct ModelQuality {
  size_t tasks = 0, trials = 0;  ///< that were held out
  size_t learned = 0;            ///< trials of other tasks alone, which it learned from besides
  double first = 0;              ///< the one that the model puts first
  double five = 0;               ///< the best of the five that it puts first
  double any = 0;                ///< one at random
  double any_five = 0;           ///< the best of five at random
  double seconds = 0;            ///< of training, all folds together
};

/// Tasks of fewer trials that came to an end say nothing.
inline constexpr size_t kLeastTrials = 8;

/// The tasks of `held_out`, in folds: each is judged by a model that learned from all other folds, and from what is in
/// no fold. Errors: kUnsupported: there is no library, or no two tasks with enough trials.
Result<ModelQuality> evaluate_trees(const std::vector<kernel::Trials>& trials, const std::set<Hash128>& held_out,
                                    uint64_t seed);

}  // namespace isomer::tune
