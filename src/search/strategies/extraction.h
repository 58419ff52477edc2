// The cheapest way to compute a program's outputs out of all that rules made of it: for each class the value that is
// computed. What several read is paid once, so this is no sum over a tree: choices are changed one after the other, or
// as one rewrite changes several, as long as the whole gets cheaper. Test: tests/search/saturation_test.cpp
#pragma once

#include <functional>
#include <vector>

#include "search/cost/estimate.h"
#include "substitutions/rewrite/saturated_program.h"

namespace isomer::search {

struct Extraction {
  std::vector<int> chosen;        ///< by leader: a value of its class
  std::vector<int> applications;  ///< all that are computed, sorted
  double cost = 0;                ///< microseconds, by estimates
};

struct ExtractionLimits {
  int most = 16;   ///< extractions
  int tried = 40;  ///< changes that are made first, whatever they cost, to see what they lead to
};

/// Different ways, the cheapest first; the program itself is none of them. Deterministic, but for when `is_late` says
/// so.
std::vector<Extraction> extractions(const substitutions::SaturatedProgram& all, const substitutions::Program& program,
                                    const ExtractionLimits& limits, const std::function<bool()>& is_late);

/// Those that one change makes of what was chosen, by nothing: of the program itself; so many as are tried, whatever
/// they cost.
std::vector<Extraction> extractions_near(const substitutions::SaturatedProgram& all,
                                         const substitutions::Program& program, const std::vector<int>* chosen,
                                         const ExtractionLimits& limits, const std::function<bool()>& is_late);

}  // namespace isomer::search
