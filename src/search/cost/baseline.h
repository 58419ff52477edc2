// The model as it was given, which races are run against: at which sizes, on which inputs, and how long a run takes.
// Test: tests/search/optimize_model_test.cpp
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "search/cost/backend.h"
#include "util/memory_limit.h"

namespace isomer::search {

class Baseline {
 public:
  struct Options {
    RaceOptions race;  ///< its threads are `threads`
    int threads = 1;
    uint64_t seed = 0;  ///< of the inputs
    MemoryLimit memory = {};
  };
  /// The model and the backend outlive it.
  Baseline(const Graph& model, Backend& backend, Options options);

  /// Makes the model run, where the backend can: what is left open is 32, 8, 2 or 1, the first that the model takes and
  /// at which it is not too much arithmetic. `simplified` is the model after passes. Errors: kStopped; whatever else
  /// is the matter, why_not_open() says.
  Result<void> open(const Graph& simplified);
  bool is_open() const { return runner_ != nullptr; }
  const std::string& why_not_open() const { return why_not_open_; }
  /// Of dims that the model leaves open, by name.
  const std::map<std::string, int64_t>& sizes() const { return sizes_; }
  /// Of one run; 0 where it is not open.
  double run_microseconds() const { return run_microseconds_; }
  /// Of making it run.
  double open_seconds() const { return open_seconds_; }

  /// The graph at the sizes of races.
  Result<Graph> bound(Graph graph) const;
  /// Seeded inputs at these sizes; races take set 0.
  Result<std::vector<Tensor>> inputs(int set = 0) const;
  /// Whether two compiled models have room side by side. Errors: kUnsupported.
  Result<void> check_room() const;

  /// Of a graph that was made of the model. What is left open is bound where code is made for it; other runtimes run
  /// what is bound otherwise.
  Result<std::unique_ptr<Runner>> runner(const Graph& graph) const;
  const std::vector<Tensor>& inputs_of_races() const { return inputs_; }
  /// Whoever is given against the runner: the model as it was, unless it is told.
  Result<Raced> race(Runner& other, double times_as_long = 1, Runner* first = nullptr) const;
  /// The model as it was given against the runner of this graph, of a backend that does not simplify. A first race that
  /// does not tell whether the graph is slower may have been luck, good or bad: more are held, for which both runners
  /// are made anew, until it is told, or they are seven, or time is out; three at least decide together, of two the
  /// second. `told` hears of those that left it open.
  Result<Raced> race_closely(std::unique_ptr<Runner> runner, const Graph& graph, const std::function<bool()>& has_time,
                             const std::function<void(const Raced&)>& told);
  /// Races take so long, where a few rounds are not longer.
  void set_race_seconds(double seconds) { options_.race.seconds = seconds; }
  double race_seconds() const;
  /// Of a race, at most, that both runners are made anew for.
  double renewed_race_seconds() const;

 private:
  /// Of one of the runners in a race.
  double turn_seconds() const { return options_.race.settle_seconds + 1e-6 * run_microseconds_; }
  Result<void> open_at_sizes(const Graph& simplified);
  bool is_modest(const Graph& graph) const;
  /// Makes the model as it was given run anew. Where that fails it is left as it was.
  Result<void> renew();

  const Graph& model_;
  Backend& backend_;
  Options options_;
  std::map<std::string, int64_t> sizes_;
  std::vector<Tensor> inputs_;
  std::unique_ptr<Runner> runner_;
  std::string why_not_open_;
  double run_microseconds_ = 0, open_seconds_ = 0;
};

}  // namespace isomer::search
