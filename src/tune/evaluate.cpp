#include "tune/evaluate.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "kernel/task_text.h"
#include "tune/trials.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/stable_sort.h"
#include "util/stop.h"

namespace isomer::tune {
namespace {

constexpr size_t kChosen = 5;

/// A task's trials as a model sees them.
struct Seen {
  Origin origin;  ///< target 0: the one that is judged
  std::optional<size_t> fold;
  std::vector<Row> rows;
  std::vector<double> microseconds;  ///< infinite: it failed

  bool is_judged() const {
    const auto finished = std::ranges::count_if(microseconds, [](double us) { return std::isfinite(us); });
    return fold && origin.target == 0 && static_cast<size_t>(finished) >= kLeastTrials;
  }
  double best() const { return *std::ranges::min_element(microseconds); }
};

/// Of a task whose trials come in an order, how near the best of the first ones comes to the best of all.
double nearness(const Seen& seen, const std::vector<size_t>& order, size_t count) {
  double best = std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < std::min(count, order.size()); ++k) best = std::min(best, seen.microseconds[order[k]]);
  return seen.best() / best;
}

/// The same for an order at random: the mean over many.
double nearness_at_random(const Seen& seen, size_t count, Random& random) {
  constexpr int kOrders = 200;
  double sum = 0;
  for (int k = 0; k < kOrders; ++k) {
    std::vector<size_t> some;
    for (size_t one = 0; one < count; ++one) some.push_back(random.below(seen.microseconds.size()));
    sum += nearness(seen, some, count);
  }
  return sum / kOrders;
}

/// That the calling thread has worked.
double seconds_of_thread() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Evaluator {
 public:
  Evaluator(const CostModelOptions& model, const EvaluationOptions& options)
      : model_(model), options_(options), random_(options.seed) {}

  Result<ModelQuality> run(const std::vector<kernel::Trials>& trials, const kernel::Space& space) {
    TRY_VOID(see(trials, space));
    std::set<size_t> folds;
    for (const Seen& seen : all_)
      if (seen.is_judged()) folds.insert(*seen.fold);
    if (folds.size() < 2)
      return unsupported("records",
                         "trials of tasks of at least two folds expected, {} each that came to an end, found: of {}",
                         kLeastTrials, folds.size());
    for (const size_t fold : folds) TRY_VOID(judge(fold));
    for (double* mean : {&quality_.first, &quality_.five, &quality_.any, &quality_.any_five})
      *mean /= static_cast<double>(quality_.tasks);
    for (size_t* mean : {&quality_.learned, &quality_.learned_elsewhere}) *mean /= folds.size();
    return quality_;
  }

 private:
  Result<void> see(const std::vector<kernel::Trials>& trials, const kernel::Space& space) {
    TRY(const std::unique_ptr<CostModel> model, open_model(model_));
    std::map<std::string, size_t> targets = {{options_.target, 0}};
    double seconds = 0;
    size_t looked = 0;
    for (const kernel::Trials& of : trials) {
      TRY_VOID(check_stop());
      std::vector<std::optional<Row>> rows(of.trials.size());
      std::vector<double> took(of.trials.size());
      const auto show = [&](size_t k, const Candidate& candidate, const kernel::Machine& machine) {
        const double begin = seconds_of_thread();
        rows[k] = model->look(candidate, machine);
        took[k] = seconds_of_thread() - begin;
      };
      // What can't be made again can't be learned.
      if (!replay(of, space, show).ok()) continue;
      Seen& seen = all_.emplace_back();
      seen.origin = {all_.size(), targets.try_emplace(of.key.target, targets.size()).first->second};
      if (const auto fold = options_.folds.find(kernel::meaning_of(of.text)); fold != options_.folds.end())
        seen.fold = fold->second;
      for (size_t k = 0; k < rows.size(); ++k) {
        if (!rows[k]) continue;
        seen.rows.push_back(*std::move(rows[k]));
        seen.microseconds.push_back(of.trials[k].microseconds.value_or(std::numeric_limits<double>::infinity()));
        seconds += took[k];
        ++looked;
      }
    }
    quality_.look_us = 1e6 * seconds / static_cast<double>(std::max<size_t>(looked, 1));
    return {};
  }

  Result<void> judge(size_t fold) {
    TRY_VOID(check_stop());
    TRY(const std::unique_ptr<CostModel> model, open_model(model_));
    for (const Seen& seen : all_)
      for (size_t k = 0; seen.fold != fold && k < seen.rows.size(); ++k) {
        if (seen.origin.target == 0 && !random_.chance(options_.labels)) continue;
        model->add(seen.origin, seen.rows[k], seen.microseconds[k]);
        ++quality_.learned;
        quality_.learned_elsewhere += seen.origin.target != 0;
      }
    const auto begin = Clock::now();
    for (const Seen& seen : all_) {
      if (seen.fold != fold || !seen.is_judged()) continue;
      TRY(const auto scores, model->score(seen.rows, 0));
      if (!scores) return unsupported("records", "more trials to learn from expected than {}", quality_.learned);
      std::vector<size_t> order(seen.rows.size());
      std::iota(order.begin(), order.end(), size_t{0});
      stable_sort(order, [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
      ++quality_.tasks;
      quality_.trials += seen.rows.size();
      quality_.first += nearness(seen, order, 1);
      quality_.five += nearness(seen, order, kChosen);
      quality_.any += nearness_at_random(seen, 1, random_);
      quality_.any_five += nearness_at_random(seen, kChosen, random_);
    }
    quality_.seconds += seconds_since(begin);
    return {};
  }

  const CostModelOptions& model_;
  const EvaluationOptions& options_;
  Random random_;
  std::vector<Seen> all_;
  ModelQuality quality_;
};

}  // namespace

Result<ModelQuality> evaluate(const CostModelOptions& model, const std::vector<kernel::Trials>& trials,
                              const kernel::Space& space, const EvaluationOptions& options) {
  return Evaluator(model, options).run(trials, space);
}

}  // namespace isomer::tune
