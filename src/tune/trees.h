// Gradient boosted trees by XGBoost (Chen and Guestrin 2016), opened at run time: the only door to it.
// Test: tests/tune/cost_model_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "util/result.h"

namespace isomer::tune {

using Row = std::vector<float>;

struct Sample {
  Row row;  ///< as long as all others
  float target = 0;
  float weight = 1;
};

/// On one thread: the library's wait for each other many times a tree, on a busy machine twenty times as long as they
/// work.
class Trees {
 public:
  /// Errors (kUnsupported): there is no library, or one without a function that is needed.
  static Result<Trees> open(uint64_t seed);
  Trees(Trees&&) noexcept;
  Trees& operator=(Trees&&) noexcept;
  ~Trees();

  /// Anew: squares of differences are made small.
  Result<void> train(std::span<const Sample> samples);
  /// After training.
  Result<std::vector<double>> predict(std::span<const Row> rows) const;

 private:
  class State;
  explicit Trees(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isomer::tune
