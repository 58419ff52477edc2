// Programs cut into parts that are searched one by one (DESIGN.md 6). Test: tests/search/regions_test.cpp
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "substitutions/rewrite/program.h"

namespace isomer::search {

struct RegionOptions {
  int least = 8, most = 48;  ///< applications of a region; the last one may have fewer
};

struct Regions {
  std::vector<std::vector<int>>
      applications;     ///< of each region, in an order in which they can run; none opaque, none of constants alone
  std::set<int> seams;  ///< the applications behind which it was cut
};

/// Cuts a program, in an order in which it can run, where the fewest values are alive; between places that are equal,
/// everywhere, so that equal blocks become equal regions. Seams of an earlier cut, and what is near them, are left
/// whole.
Regions regions_of(const substitutions::Program& program, const std::set<int>& earlier_seams = {},
                   const RegionOptions& options = {});

enum class Shared : uint8_t { kConstant, kComputed };
/// What a region holds beside the readers of one value.
enum class Beside : uint8_t {
  kLightReaders,  ///< of theirs, and what reads these
  kSameWeights,   ///< nothing, and they all read constants that others read too: so it is equal wherever the same
                  ///< weights are read
};
struct Sharing {
  Shared shared = Shared::kConstant;
  Beside beside = Beside::kLightReaders;
};
/// What reads one value, a constant or one that is computed, and can be far apart in the program: for each with several
/// readers of one operator that are heavy, those that don't need each other. They may overlap, and what lies between
/// their members is not in them: a rewrite of one may be a cycle in the program.
std::vector<std::vector<int>> sharing_regions(const substitutions::Program& program, const Sharing& sharing,
                                              const std::function<bool(int application)>& is_heavy,
                                              const RegionOptions& options = {});

}  // namespace isomer::search
