// Layered drawings: nodes below what they read, nothing on top of anything else.
#include "report/layout.h"

#include <gtest/gtest.h>

#include "util/random.h"

namespace isomer::report {
namespace {

void expect_drawn(const std::vector<Size>& nodes, const std::vector<Edge>& edges) {
  const Layout layout = layered(nodes, edges);
  ASSERT_EQ(layout.centers.size(), nodes.size());
  ASSERT_EQ(layout.routes.size(), edges.size());
  const auto top = [&](size_t v) { return layout.centers[v].y - nodes[v].height / 2; };
  const auto left = [&](size_t v) { return layout.centers[v].x - nodes[v].width / 2; };
  for (size_t a = 0; a < nodes.size(); ++a) {
    EXPECT_GE(left(a), -1e-6);
    EXPECT_GE(top(a), -1e-6);
    EXPECT_LE(left(a) + nodes[a].width, layout.size.width + 1e-6);
    EXPECT_LE(top(a) + nodes[a].height, layout.size.height + 1e-6);
    for (size_t b = 0; b < a; ++b) {
      const bool is_apart = left(a) + nodes[a].width <= left(b) || left(b) + nodes[b].width <= left(a) ||
                            top(a) + nodes[a].height <= top(b) || top(b) + nodes[b].height <= top(a);
      EXPECT_TRUE(is_apart) << a << " " << b;
    }
  }
  for (size_t k = 0; k < edges.size(); ++k) {
    const std::vector<Point>& route = layout.routes[k];
    ASSERT_GE(route.size(), 2U);
    for (size_t p = 1; p < route.size(); ++p) EXPECT_LT(route[p - 1].y, route[p].y);
    EXPECT_NEAR(route.front().x, layout.centers[edges[k].from].x, 1e-6);
    EXPECT_NEAR(route.back().y, top(edges[k].to), 1e-6);
  }
}

TEST(Layout, OfADiamondAndALongEdge) {
  expect_drawn({{40, 20}, {60, 20}, {30, 40}, {50, 20}}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}});
}

TEST(Layout, OfNothingIsNothing) {
  EXPECT_EQ(layered({}, {}).size.width, 0);
  expect_drawn({{10, 10}}, {});
}

TEST(Layout, OfRandomGraphs) {
  Random random(5);
  for (int graph = 0; graph < 60; ++graph) {
    const auto count = static_cast<size_t>(random.between(1, 30));
    std::vector<Size> nodes;
    std::vector<Edge> edges;
    for (size_t k = 0; k < count; ++k) {
      nodes.push_back({random.uniform(10, 200), random.uniform(10, 80)});
      for (size_t from = 0; from < k; ++from)
        if (random.chance(0.15)) edges.push_back({from, k});
    }
    expect_drawn(nodes, edges);
  }
}

/// Graphs of models have none; what has is drawn without the edges that close them.
TEST(Layout, OfACycleEnds) {
  const Layout layout = layered({{10, 10}, {10, 10}, {10, 10}}, {{0, 1}, {1, 2}, {2, 0}, {1, 1}});
  EXPECT_EQ(layout.centers.size(), 3U);
  EXPECT_TRUE(layout.routes[3].empty());
}

}  // namespace
}  // namespace isomer::report
