// Mutants (Wang et al., OSDI 2021, section 4): programs of the shape of another one that give what it gives on most of
// its output, wherever their borders lie; corrected (section 5) where they don't, and proved by elements for all sizes.
// What is corrected, proved and kept is a rule like any other. Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "substitutions/mutate/originals.h"
#include "substitutions/proof/rule.h"
#include "util/clock.h"

namespace isomer::substitutions {

struct MutantOptions {
  int max_operators = 4;
  int threads = 1;
  uint64_t seed = 0;
  /// Draws of sizes and structures that a proof for all sizes must cover; 0: there is none, a rule is proved by
  /// elements, without a solver, wherever it is used.
  int trials = 60;
  std::span<const Rule> known = {};                       ///< what they say already is left out
  std::optional<Clock::time_point> until = std::nullopt;  ///< what is found by then is enough
  std::function<void(const std::string& line)> log = nullptr;
};

struct MutantStatistics {
  int64_t tried = 0, typed = 0;  ///< typed: of these, of the original's shape
  int equal = 0;                 ///< everywhere, as they are
  int partly = 0;                ///< where no border is near
  int corrected = 0;             ///< of these
  bool is_complete = true;       ///< false: the time was over before all were tried
  double seconds = 0;
};

struct Mutants {
  std::vector<Rule> rules;
  MutantStatistics statistics;
};

/// The same for any number of threads, where time does not end it. Errors: Z3 fails, kStopped.
Result<Mutants> mutants(const std::vector<Original>& originals, const MutantOptions& options);

}  // namespace isomer::substitutions
