// Programs cut into parts that are searched one by one (DESIGN.md 6). Test: tests/search/regions_test.cpp
#pragma once

#include <set>
#include <vector>

#include "substitutions/program.h"

namespace isomer {

struct RegionOptions {
  int least = 8, most = 48;  ///< applications of a region; the last one may have fewer
};

struct Regions {
  std::vector<std::vector<int>> applications;  ///< of each region, in an order in which they can run; none opaque, none of constants alone
  std::set<int> seams;  ///< the applications behind which it was cut
};

/// Cuts a program, in an order in which it can run, where the fewest values are alive; between places that are equal, everywhere, so
/// that equal blocks become equal regions. Seams of an earlier cut, and what is near them, are left whole.
Regions regions_of(const substitutions::Program& program, const std::set<int>& earlier_seams = {}, const RegionOptions& options = {});

}  // namespace isomer
