#include "graph/min_cut.h"

#include <gtest/gtest.h>

#include "util/random.h"

namespace isomer::test {
namespace {

int64_t cost(const std::vector<CutEdge>& edges, const std::vector<bool>& side) {
  int64_t total = 0;
  for (const CutEdge& edge : edges)
    if (side[edge.from] != side[edge.to]) total += edge.weight;
  return total;
}

TEST(MinCut, CostsNoMoreThanAnyOther) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto count = static_cast<size_t>(random.between(2, 9));
    std::vector<CutEdge> edges;
    for (int64_t k = random.between(0, 20); k > 0; --k) {
      const auto from = static_cast<int>(random.below(count)), to = static_cast<int>(random.below(count));
      if (from != to) edges.push_back({from, to, random.between(0, 12)});
    }
    const std::vector<bool> side = min_cut(count, edges);
    ASSERT_EQ(side.size(), count);
    EXPECT_TRUE(side[0]);
    EXPECT_FALSE(side[1]);
    for (uint64_t bits = 0; bits < uint64_t{1} << (count - 2); ++bits) {
      std::vector<bool> other(count, false);
      other[0] = true;
      for (size_t k = 2; k < count; ++k) other[k] = (bits >> (k - 2)) & 1;
      EXPECT_LE(cost(edges, side), cost(edges, other));
    }
  }
}

}  // namespace
}  // namespace isomer::test
