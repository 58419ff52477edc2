#include "tune/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "tune/cost_model.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/stable_sort.h"
#include "util/stop.h"

namespace isomer::tune {
namespace {

constexpr size_t kFolds = 5, kChosen = 5;

/// A task's trials as models see them.
struct Seen {
  Hash128 task;
  std::vector<Features> features;
  std::vector<double> microseconds;  ///< infinite: it failed

  size_t finished() const {
    return static_cast<size_t>(std::ranges::count_if(microseconds, [](double us) { return std::isfinite(us); }));
  }
  double best() const { return *std::ranges::min_element(microseconds); }
};

std::vector<Seen> seen_of(const std::vector<kernel::Trials>& trials) {
  std::vector<Seen> result;
  for (const kernel::Trials& of : trials) {
    Seen& seen = result.emplace_back();
    seen.task = of.key.task;
    for (const kernel::Trial& trial : of.trials)
      if (auto features = unpack(trial.features); features && !features->empty()) {
        seen.features.push_back(*std::move(features));
        seen.microseconds.push_back(trial.microseconds.value_or(std::numeric_limits<double>::infinity()));
      }
  }
  return result;
}

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

}  // namespace

Result<ModelQuality> evaluate_trees(const std::vector<kernel::Trials>& trials, const std::set<Hash128>& held_out,
                                    uint64_t seed) {
  const std::vector<Seen> all = seen_of(trials);
  const auto is_judged = [&](const Seen& seen) {
    return held_out.contains(seen.task) && seen.finished() >= kLeastTrials;
  };
  // All trials of a task are in its fold, of whatever version and place of weights they are.
  std::map<Hash128, size_t> numbers;
  for (const Seen& seen : all)
    if (is_judged(seen)) numbers.try_emplace(seen.task, numbers.size());
  if (numbers.size() < 2)
    return unsupported("records", "trials of at least two tasks expected, {} each that came to an end, found: of {}",
                       kLeastTrials, numbers.size());
  ModelQuality quality;
  for (const Seen& seen : all) quality.learned += numbers.contains(seen.task) ? 0 : seen.features.size();
  Random random(seed);
  const size_t folds = std::min(kFolds, numbers.size());
  for (size_t fold = 0; fold < folds; ++fold) {
    TRY_VOID(check_stop());
    TRY(Trees trees, Trees::open(seed));
    CostModel model(std::move(trees));
    const auto is_in_fold = [&](const Seen& seen) {
      const auto number = numbers.find(seen.task);
      return number != numbers.end() && number->second % folds == fold;
    };
    for (size_t task = 0; task < all.size(); ++task)
      for (size_t k = 0; !is_in_fold(all[task]) && k < all[task].features.size(); ++k)
        model.add(task, all[task].features[k], all[task].microseconds[k]);
    const auto begin = Clock::now();
    for (const Seen& seen : all) {
      if (!is_in_fold(seen) || !is_judged(seen)) continue;
      TRY(const auto scores, model.score(seen.features));
      if (!scores) return unsupported("records", "more trials expected than {}, to learn from", quality.learned);
      std::vector<size_t> order(seen.features.size());
      std::iota(order.begin(), order.end(), size_t{0});
      stable_sort(order, [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
      ++quality.tasks;
      quality.trials += seen.features.size();
      quality.first += nearness(seen, order, 1);
      quality.five += nearness(seen, order, kChosen);
      quality.any += nearness_at_random(seen, 1, random);
      quality.any_five += nearness_at_random(seen, kChosen, random);
    }
    quality.seconds += seconds_since(begin);
  }
  for (double* mean : {&quality.first, &quality.five, &quality.any, &quality.any_five})
    *mean /= static_cast<double>(quality.tasks);
  return quality;
}

}  // namespace isomer::tune
