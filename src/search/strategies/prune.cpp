#include "search/strategies/prune.h"

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

}  // namespace

Result<Pruned> pruned(const Program& before, std::vector<Match> steps, Substitutions& rules, CostChanges& changes,
                      double least) {
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
  return result;
}

}  // namespace isomer::search
