// Boxes of a tensor's positions: products of intervals. Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace isomer::substitutions {

struct Box {
  std::vector<int64_t> begin, end;  ///< by axis
  bool operator==(const Box&) const = default;
};

/// Disjoint boxes of exactly the positions that are true, row-major; few, as neighbours that make a box are one.
std::vector<Box> boxes_of(const std::vector<bool>& positions, const Dims& dims);
/// "[0:2, 3, :]": a whole axis without numbers.
std::string text(const Box& box, const Dims& dims);

}  // namespace isomer::substitutions
