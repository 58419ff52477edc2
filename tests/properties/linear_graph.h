// Random graphs of what rewriting is about: linear operators in chains, each on what the one before it made, with
// movement, casts, integers, reductions, operators of several outputs, branches and loops between them.
#pragma once

#include "properties/random_graph.h"

namespace isomer::test {

Sample linear_sample(uint64_t seed);

}  // namespace isomer::test
