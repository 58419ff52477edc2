// How good a cost model's choices are among schedules that it has not seen, of tasks that it has not seen.
// Test: tests/tune/evaluate_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernel/records.h"
#include "kernel/space/module.h"
#include "tune/cost_model.h"

namespace isomer::tune {

/// As fast as the best trial of a task is what was chosen of its trials: 1 is the best, the mean over tasks (TenSet:
/// Zheng et al. 2021, top-k).
struct ModelQuality {
  size_t tasks = 0, trials = 0;  ///< that were held out
  size_t learned = 0;            ///< trials that a fold's model learned from, the mean
  size_t learned_elsewhere = 0;  ///< those of them that are of other targets
  double first = 0;              ///< the one that the model puts first
  double five = 0;               ///< the best of the five that it puts first
  double any = 0;                ///< one at random
  double any_five = 0;           ///< the best of five at random
  double look_us = 0;            ///< that a thread works to see a candidate, the mean
  double seconds = 0;            ///< of training and scoring, all folds together
};

/// Tasks of fewer trials that came to an end say nothing.
inline constexpr size_t kLeastTrials = 8;

struct EvaluationOptions {
  std::string target;  ///< whose tasks are judged
  /// By what tasks compute (kernel/task_text.h: meaning_of): those of a fold, of all targets, are held out together.
  /// Others are learned from always.
  std::map<std::string, size_t, std::less<>> folds;
  /// Of the trials of that target that could be learned from, the share that is.
  double labels = 1;
  uint64_t seed = 0;
};

/// Errors (kUnsupported): a library is not here; no tasks of two folds with enough trials.
Result<ModelQuality> evaluate(const CostModelOptions& model, const std::vector<kernel::Trials>& trials,
                              const kernel::Space& space, const EvaluationOptions& options);

}  // namespace isomer::tune
