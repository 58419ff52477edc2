// Minimum cuts of small weighted graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isomer {

/// An edge that costs `weight` where its ends lie on different sides.
struct CutEdge {
  int from = 0;
  int to = 0;
  int64_t weight = 0;
};

/// Which of `count` vertices lie on the side of vertex 0 when vertices 0 and 1 are parted at the least cost (Edmonds
/// and Karp's maximum flow); of several such cuts the one with the fewest vertices on vertex 0's side.
std::vector<bool> min_cut(size_t count, const std::vector<CutEdge>& edges);

}  // namespace isomer
