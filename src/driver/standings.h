// Where equations stand with a library, several at a time.
#pragma once

#include <string>
#include <vector>

#include "substitutions/library/equation_standing.h"

namespace isomer {

struct StandingsOptions {
  std::vector<std::string> rules;  ///< files; none: the rules that come with the program
  verify::SaturationLimits limits = substitutions::kConsequenceLimits;
  int threads = 1;
  uint64_t seed = 0;
};

/// Each equation by itself, in order; for one without types, or that is not well typed, an error with its line. Errors:
/// the solver can't be started, rules can't be read, a stop was requested.
Result<std::vector<Result<substitutions::Standing>>> standings_of(
    const std::vector<substitutions::StatedEquation>& equations, const StandingsOptions& options);

}  // namespace isomer
