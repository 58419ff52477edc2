// Whether two graphs compute the same of the same inputs, however products and sums are written: x·x or x^2, x/r or
// x·(1/r), in any order, one factor or addend after the other. Over the reals, and where both have values. Test:
// tests/passes/contract.txt
#pragma once

#include "graph/graph.h"

namespace isomer::ops {

/// Of graphs that are inferred and have one output each; inputs stand for each other by number. Of float products and
/// sums alone that; all others must be the same nodes.
bool same_arithmetic(const Graph& first, const Graph& second);

}  // namespace isomer::ops
