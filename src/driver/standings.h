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

/// Each equation by itself, in order. Errors: one has no types; the solver can't be started; as of standing_of; all
/// with the line.
Result<std::vector<substitutions::Standing>> standings_of(const std::vector<substitutions::StatedEquation>& equations,
                                                          const StandingsOptions& options);

}  // namespace isomer
