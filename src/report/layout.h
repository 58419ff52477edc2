// Layered drawings of directed acyclic graphs (Sugiyama, Tagawa and Toda 1981): each node below what it reads, edges
// around the nodes that they pass. Test: tests/report/layout_test.cpp
#pragma once

#include <cstddef>
#include <vector>

namespace isomer::report {

struct Point {
  double x = 0, y = 0;
};

struct Size {
  double width = 0, height = 0;
};

struct Edge {
  size_t from = 0, to = 0;
};

struct Layout {
  Size size;
  std::vector<Point> centers;              ///< by node
  std::vector<std::vector<Point>> routes;  ///< by edge: from the bottom of one node to the top of the other
};

/// Nothing overlaps. Edges of a node to itself, and those that close a cycle, have no route.
Layout layered(const std::vector<Size>& nodes, const std::vector<Edge>& edges);

}  // namespace isomer::report
