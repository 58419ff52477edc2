// Random programs with inputs that fit them: every kind of stage, all monoids, loads at affine, divided, gathered and
// guarded indices, odd sizes. Elements are small multiples of 1/4, so that most sums are exact in any order.
#pragma once

#include <vector>

#include "graph/te/program.h"
#include "graph/tensor.h"
#include "util/random.h"

namespace isomer::te::test {

struct RandomProgram {
  Program program;
  std::vector<Tensor> inputs;
};

/// One map/reduce stage, and sometimes a map over its value.
RandomProgram random_map_reduce(Random& random);
/// A sum of products of loads over iterators of batch, rows, columns and depth; sometimes of integers.
RandomProgram random_contraction(Random& random);
RandomProgram random_scan(Random& random);
RandomProgram random_update(Random& random);

}  // namespace isomer::te::test
