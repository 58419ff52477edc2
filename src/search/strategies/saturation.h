// The third strategy: all that rules make of a region side by side (an e-graph), the cheapest ways out of it by
// estimates, each done again as a row of rewrites and measured. Rewrites that cost more on the way to what costs less
// are no obstacle, as they are for states that are gone on from one by one. Test: tests/search/saturation_test.cpp
#pragma once

#include "search/strategies/states.h"

namespace isomer::search {

Result<Searched> saturation_search(substitutions::Program program, Expander& expander);

}  // namespace isomer::search
