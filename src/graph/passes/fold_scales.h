// Factors travel: a Mul or Div by one number goes up the values that are proportional to its operand, and down those
// that are proportional to its result, through what moves elements and what is linear (MatMul, Mul, Div, sums), until
// constants that take it: weights, a bias added on the way, another factor. So the scale of attention scores ends in
// the weights of the queries, also where queries, keys and values are slices of one product. Only along values that
// nothing else reads, or whose other readers read other channels. Equal in the reals. Test:
// tests/passes/fold_scales.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> fold_scales(Graph& graph, PassContext& context);

}  // namespace isomer
