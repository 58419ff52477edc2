// Two ways to run a model, timed in turns, so that drifts of the machine meet both: what decides in the end whether a
// rewritten model is the faster one. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "search/code/compile.h"

namespace isomer::search {

/// A model with inputs to run it on; what it computes is thrown away.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual Result<void> run() = 0;
};

/// Our own code for a graph whose dims are bound; `level` of the passes before (prepare.h).
Result<std::unique_ptr<Runner>> compiled_runner(const Graph& graph, std::span<const Tensor> inputs, int level,
                                                const CompileOptions& options);

/// Code that was made.
Result<std::unique_ptr<Runner>> runner_of(Compilation compiled, std::span<const Tensor> inputs, int threads,
                                          MemoryLimit memory);

struct RaceOptions {
  double seconds = 2;
  int least_rounds = 9;  ///< fewer where they leave no doubt (kFewestRounds) or take longer (kOfLongRuns)
  /// Of all rounds: fewer of them where they would take longer.
  double most_seconds = std::numeric_limits<double>::infinity();
  int threads = 1;  ///< of the runners
  int64_t sweep_bytes =
      0;  ///< that are read before each run: parts of a model find their weights where the rest of it left them
  double settle_seconds = 0.002;       ///< between turns: threads of the one before may still be busy waiting
  std::function<double()> clock = {};  ///< that runs are timed by, in seconds; the machine's where it is empty
};

struct Raced {
  double first = 0, second = 0;  ///< microseconds of a run, medians over rounds
  double ratio = 1;              ///< first / second: the median over rounds,
  double low = 1, high = 1;      ///< and the quartiles
  int rounds = 0;                ///< or races, where it is of several

  /// Of the ratio: the standard error of a median, as quartiles tell it of normal noise.
  double error() const { return 0.93 * (high - low) / std::sqrt(std::max(rounds, 1)); }
  /// What chance explains of the ratio: two standard errors.
  double noise() const { return 2 * error(); }
  bool is_told_apart() const { return std::fabs(ratio - 1) > noise(); }
  /// By more than clocks are off and chance explains, or by so much that nobody wants to wait on the chance.
  bool is_slower() const;
  bool is_surely_not_slower() const;
};
/// Of several between runners that were made anew, whose ratios differ by more than the rounds of each tell (by where
/// the memory of a runner lies, for one): the middle one, with the quartiles of them all.
Raced middle_of(std::vector<Raced> races);

/// Rounds after which a race that has taken its time may end: where each of them says the same by so much.
inline constexpr int kFewestRounds = 3;
inline constexpr double kNoDoubt = 1.05;
/// Rounds at least that leave doubt, where runs are long for the time there is.
inline constexpr int kOfLongRuns = 5;
/// Rounds at least that leave doubt.
int least_rounds(const RaceOptions& options, double round_seconds);

/// What parts of models sweep: twice what the caches next to a core hold.
int64_t part_sweep_bytes();

/// Errors: those of runs, and kUnsupported where even the fewest rounds would take too long.
Result<Raced> race(Runner& first, Runner& second, const RaceOptions& options = {});

}  // namespace isomer::search
