// What is thought of candidates before they are measured: by a cost model that learns from all trials, those of earlier
// runs too, and by the draft as long as that says nothing. Test: tests/tune/tuner_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/records.h"
#include "tune/cost_model.h"
#include "util/clock.h"
#include "util/parallel.h"
#include "util/threads.h"

namespace isomer::tune {

struct TuneOptions;

/// Of the candidates that are made again, so many at a time.
inline constexpr size_t kMadeAgain = 64;
/// For one of so many who make again, since `begin`, what earlier runs measured: most of the time is left for what is
/// new.
bool has_time_for_earlier(const TuneOptions& options, Clock::time_point begin, size_t of);

class Predictor {
 public:
  /// The options outlive it. `ends`: there is no time for more.
  Predictor(const TuneOptions& options, std::function<bool()> ends);

  bool can_score() const { return model_ || draft_; }
  /// Larger is faster; nothing where nothing can be said.
  std::optional<std::vector<double>> scores(const std::vector<Candidate>& candidates);
  const std::string& why_no_model() const { return why_no_model_; }

  /// What the model sees, empty without one.
  Row look(const Candidate& candidate) const;
  /// Of a task of this run; nothing: it failed.
  void add(size_t task, Row seen, std::optional<double> microseconds);

  struct OwnTask {
    size_t number = 0;
    double scale = 1;  ///< of times in the records, to those of this run
  };
  /// What earlier runs have measured, of each task the newest first, as far as time suffices. `own`: a task of this
  /// run, one of so many, that these are of. Errors: those of the records, and kStopped.
  Result<void> learn_from(const kernel::Records& records, const std::string& target, const std::string& generator,
                          size_t tasks, const std::function<std::optional<OwnTask>(const kernel::Trials&)>& own);

 private:
  struct From {
    Origin origin;
    double scale = 1;
  };
  void add(const Origin& origin, Row seen, std::optional<double> microseconds);
  void learn(const kernel::Trials& of, size_t behind, const From& from);

  const TuneOptions& options_;
  std::function<bool()> ends_;
  std::unique_ptr<CostModel> model_;  ///< that learns
  std::unique_ptr<CostModel> draft_;  ///< where and as long as that says nothing
  std::string why_no_model_;
  ThreadPool pool_{available_threads()};
};

}  // namespace isomer::tune
