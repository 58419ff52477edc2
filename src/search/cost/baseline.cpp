#include "search/cost/baseline.h"

#include <algorithm>

#include "graph/bind.h"
#include "graph/memory_estimate.h"
#include "graph/te/integer.h"
#include "util/clock.h"
#include "verify/check/inputs.h"

namespace isomer::search {
namespace {

/// What is left open is raced at the first of these sizes that the model takes, and at which it is no more arithmetic
/// than kMostOperations: at one, runtimes do other things than where people use them.
constexpr int64_t kSizes[] = {32, 8, 2, 1};
constexpr double kMostOperations = 1e10;

/// Races that decide together, where the first one leaves it open.
constexpr size_t kLeastRaces = 3, kMostRaces = 7;

}  // namespace

Baseline::Baseline(const Graph& model, Backend& backend, Options options)
    : model_(model), backend_(backend), options_(std::move(options)) {
  options_.race.threads = options_.threads;
  options_.race.settle_seconds = std::max(options_.race.settle_seconds, backend_.settle_seconds());
}

Result<void> Baseline::open(const Graph& simplified) {
  runner_.reset();
  if (!backend_.can_run()) {
    why_not_open_ = "no runtime to measure in was found";
    return {};
  }
  const std::vector<std::string> dims = free_dims(model_);
  for (const int64_t size : kSizes) {
    sizes_.clear();
    for (const std::string& dim : dims) sizes_[dim] = size;
    if (size > 1 && !(dims.empty() || is_modest(simplified))) continue;
    const auto opened = open_at_sizes(simplified);
    if (opened.ok() || opened.error().kind == ErrorKind::kStopped) return opened;
    runner_.reset();
    why_not_open_ = opened.error().message();
    if (dims.empty()) break;
  }
  return {};
}

Result<void> Baseline::open_at_sizes(const Graph& simplified) {
  const auto start = Clock::now();
  TRY_VOID(check_room());
  TRY(inputs_, inputs());
  if (backend_.simplifies()) {
    TRY(runner_, runner(simplified));
  } else {
    TRY(runner_, backend_.runner_as_given(model_, inputs_));
  }
  TRY_VOID(runner_->run());
  open_seconds_ = seconds_since(start);
  const auto again = Clock::now();
  TRY_VOID(runner_->run());
  run_microseconds_ = 1e6 * seconds_since(again);
  why_not_open_.clear();
  return {};
}

bool Baseline::is_modest(const Graph& graph) const {
  const auto there = bound(graph);
  if (!there.ok()) return false;
  const auto work = work_of(*there);
  return work.ok() && work->operations <= kMostOperations;
}

Result<Graph> Baseline::bound(Graph graph) const {
  if (!sizes_.empty()) TRY_VOID(bind_inputs(graph, sizes_, {}));
  return graph;
}

Result<std::vector<Tensor>> Baseline::inputs(int set) const {
  TRY(const Graph there, bound(model_));
  return generate_inputs(
      there, {.seed = options_.seed + static_cast<uint64_t>(set), .masks = true, .memory = options_.memory});
}

Result<void> Baseline::check_room() const {
  if (options_.memory.is_none()) return {};
  TRY(const Graph there, bound(model_));
  TRY(GraphMemory raced, memory_to_run(there));
  raced.weights = te::saturating_mul(raced.weights, 3);
  raced.peak = te::saturating_mul(raced.peak, 2);
  return check_fits(raced, options_.memory, "the search");
}

Result<std::unique_ptr<Runner>> Baseline::runner(const Graph& graph) const {
  if (!backend_.simplifies()) return backend_.runner(graph, inputs_);
  TRY(const Graph there, bound(graph));
  return backend_.runner(there, inputs_);
}

Result<void> Baseline::renew() {
  TRY(auto made, backend_.runner_as_given(model_, inputs_));
  runner_ = std::move(made);
  return {};
}

Result<Raced> Baseline::race(Runner& other, double times_as_long, Runner* first) const {
  RaceOptions options = options_.race;
  options.seconds *= times_as_long;
  return search::race(first ? *first : *runner_, other, options);
}

Result<Raced> Baseline::race_closely(std::unique_ptr<Runner> runner, const Graph& graph,
                                     const std::function<bool()>& has_time,
                                     const std::function<void(const Raced&)>& told) {
  TRY(Raced result, race(*runner));
  if (result.is_surely_not_slower()) return result;
  std::vector<Raced> races = {result};
  const auto is_open = [&] {
    return races.size() < kLeastRaces || !(result.is_slower() || result.is_surely_not_slower());
  };
  while (is_open() && races.size() < kMostRaces && has_time()) {
    told(races.back());
    runner.reset();
    TRY_VOID(renew());
    TRY(runner, this->runner(graph));
    TRY(races.emplace_back(), race(*runner));
    result = races.size() < kLeastRaces ? races.back() : middle_of(races);
  }
  return result;
}

double Baseline::race_seconds() const {
  // Where nobody wins plainly, those of long runs take longer.
  return is_open() ? std::max(options_.race.seconds, 2 * kFewestRounds * turn_seconds()) : 0;
}

double Baseline::renewed_race_seconds() const {
  constexpr int kRunsBefore = 2;  // of each: one that warms it up, one that says how many runs a turn is
  const RaceOptions& race = options_.race;
  const double round_seconds = 2 * turn_seconds();
  return 2 * open_seconds_ + kRunsBefore * round_seconds +
         std::max(race.seconds, least_rounds(race, round_seconds) * round_seconds);
}

}  // namespace isomer::search
