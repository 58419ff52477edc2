// How fast candidates are thought to be, learned from those that were measured, of all tasks together.
// Test: tests/tune/cost_model_test.cpp
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tune/features.h"
#include "tune/trees.h"

namespace isomer::tune {

/// Times of a task are compared with the task's best: what is learned of one holds of others (Ansor: Zheng et al. 2020,
/// section 5.2). Ansor's trees give a number for each block, which are summed; of a task that none was learned of the
/// first choice then had 0.78 of the fastest trial's speed (bench/README.md, Tuning), and has 0.95 where trees see a
/// candidate whole: its largest block, and of all blocks the largest and the sum of each column.
class CostModel {
 public:
  explicit CostModel(Trees trees) : trees_(std::move(trees)) {}

  /// Microseconds of a candidate of a task; infinite: it failed.
  void add(size_t task, const Features& features, double microseconds);
  /// Larger is faster; nothing before enough was measured. Errors: the library's.
  Result<std::optional<std::vector<double>>> score(const std::vector<Features>& candidates);

 private:
  struct Seen {
    size_t task;
    Row row;
    double microseconds;
  };
  Result<void> train();

  Trees trees_;
  std::vector<Seen> seen_;
  std::map<size_t, double> best_;  ///< by task
  size_t trained_on_ = 0;
};

}  // namespace isomer::tune
