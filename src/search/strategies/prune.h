// Leaving out the steps of a search that save nothing: what measuring is off pays for many. Test:
// tests/search/optimize_model_test.cpp
#pragma once

#include <vector>

#include "search/strategies/cost_changes.h"
#include "substitutions/rewrite/apply.h"

namespace isomer::search {

struct Pruned {
  std::vector<substitutions::Match> steps;  ///< of the program before each
  substitutions::Program program;           ///< after them
  double cost_before = 0, cost = 0;         ///< microseconds, of all of the program
};

/// What differs is measured once more; then, from the last step to the first, each is left out with those that need it
/// where what is left costs at most `least` times the first cost more for each step that went. Of what constants grow
/// by more than `most_growth` bytes for, steps that save the least a byte go. Errors: a program that can't be costed.
Result<Pruned> pruned(const substitutions::Program& before, std::vector<substitutions::Match> steps,
                      substitutions::Substitutions& rules, CostChanges& changes, double least, int64_t most_growth);

}  // namespace isomer::search
