#include "search/strategies/prune.h"

#include <limits>
#include <optional>

#include "search/cost/estimate.h"
#include "search/strategies/lockstep.h"

namespace isomer::search {

using substitutions::Match;
using substitutions::Program;
using substitutions::Substitutions;

namespace {

/// Without step `left_out`, and those that can't be done without it; -1: all.
Lockstep replayed(const Program& before, const std::vector<Match>& steps, Substitutions& rules, int left_out) {
  Lockstep lockstep(before, substitutions::as_subprogram(before), rules);
  for (int k = 0; k < static_cast<int>(steps.size()); ++k) {
    const Match& match = steps[static_cast<size_t>(k)];
    if (k == left_out || !lockstep.take(match)) lockstep.pass_over(match);
  }
  return lockstep;
}

/// Leaves out the step, with those that need it, that saves the least for a byte of what constants grow by. Whether
/// there is one.
bool leave_out_the_dearest(const Program& before, Substitutions& rules, CostChanges& changes, Pruned& pruned) {
  const int64_t bytes = weight_bytes(pruned.program);
  double least_a_byte = std::numeric_limits<double>::infinity();
  std::optional<Pruned> best;
  for (int k = 0; k < static_cast<int>(pruned.steps.size()); ++k) {
    Lockstep without = replayed(before, pruned.steps, rules, k);
    const int64_t freed = bytes - weight_bytes(without.whole());
    if (freed <= 0) continue;
    const auto cost = changes.whole(without.whole(), Effort::kMeasure);
    if (!cost.ok()) continue;
    const double a_byte = (cost->microseconds - pruned.cost) / static_cast<double>(freed);
    if (a_byte >= least_a_byte) continue;
    least_a_byte = a_byte;
    std::vector<Match> left = without.matches();
    best.emplace(Pruned{std::move(left), without.take_whole(), pruned.cost_before, cost->microseconds});
  }
  if (!best) return false;
  pruned = *std::move(best);
  return true;
}

}  // namespace

Result<Pruned> pruned(const Program& before, std::vector<Match> steps, Substitutions& rules, CostChanges& changes,
                      double least, int64_t most_growth) {
  Program after = replayed(before, steps, rules, -1).take_whole();
  TRY(const auto costs, changes.compare(before, after));
  Pruned result{std::move(steps), std::move(after), costs.first.microseconds, costs.second.microseconds};
  for (int k = static_cast<int>(result.steps.size()) - 1; k >= 0; --k) {
    // Steps that went with a later one were behind it.
    if (k >= static_cast<int>(result.steps.size())) continue;
    Lockstep without = replayed(before, result.steps, rules, k);
    const auto cost = changes.whole(without.whole(), Effort::kMeasure);
    const auto gone = static_cast<double>(result.steps.size() - without.matches().size());
    if (!cost.ok() || cost->microseconds > result.cost + gone * least * result.cost_before) continue;
    result.steps = without.matches();
    result.program = without.take_whole();
    result.cost = cost->microseconds;
  }
  const int64_t most = weight_bytes(before) + most_growth;
  while (weight_bytes(result.program) > most && leave_out_the_dearest(before, rules, changes, result)) continue;
  return result;
}

}  // namespace isomer::search
