// Gradient boosted trees by XGBoost (Chen and Guestrin 2016), opened at run time: the only door to it.
// Test: tests/tune/cost_model_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tune/features.h"
#include "util/result.h"

namespace isomer::tune {

/// Packs of rows, each with a number that is the sum of what its rows give (Ansor: Zheng et al. 2020, section 5.2).
struct Sample {
  Features rows;
  float target = 0;
  float weight = 1;
};

class Trees {
 public:
  /// Errors (kUnsupported): there is no library, or one without a function that is needed.
  static Result<Trees> open(int threads, uint64_t seed);
  Trees(Trees&&) noexcept;
  Trees& operator=(Trees&&) noexcept;
  ~Trees();

  /// Anew: squares of differences are made small.
  Result<void> train(std::span<const Sample> samples);
  /// Of packs; after training.
  Result<std::vector<double>> predict(std::span<const Features> packs) const;

 private:
  class State;
  explicit Trees(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isomer::tune
