// Large places in pieces.
#include "report/pieces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"

namespace isomer::report {
namespace {

/// Branches that all read what one node makes, each of so many nodes.
Graph branches(const char* op, int count, int length) {
  std::string text = fmt::format("opset 17\ngraph g(x: float32[4]) -> (y: float32[4]) {{\n  hub = {}(x)\n", op);
  std::string sum = "hub";
  for (int b = 0; b < count; ++b) {
    std::string last = "hub";
    for (int k = 0; k < length; ++k) {
      text += fmt::format("  v{0}_{1} = {2}({3})\n", b, k, op, last);
      last = fmt::format("v{}_{}", b, k);
    }
    text += fmt::format("  s{} = Add({}, {})\n", b, sum, last);
    sum = fmt::format("s{}", b);
  }
  auto graph = parse_graph(text + fmt::format("  y = Identity({})\n}}\n", sum));
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

std::pair<std::vector<GraphDiff::Place>, GraphDiff> pieces(const Graph& before, const Graph& after) {
  std::pair<std::vector<GraphDiff::Place>, GraphDiff> result;
  result.second = diff(before, after);
  for (const GraphDiff::Place& place : result.second.places)
    for (GraphDiff::Place& piece : pieces_of(place, before, after, result.second))
      result.first.push_back(std::move(piece));
  return result;
}

TEST(Pieces, OfASmallPlaceAreThePlace) {
  const Graph before = branches("Relu", 2, 3), after = branches("Tanh", 2, 3);
  const auto [made, found] = pieces(before, after);
  EXPECT_EQ(made.size(), found.places.size());
}

/// Each node in one piece, none of them large.
TEST(Pieces, OfALargePlaceAreSmall) {
  for (const auto& [count, length] : {std::pair(20, 12), std::pair(3, 200), std::pair(300, 1)}) {
    const Graph before = branches("Relu", count, length), after = branches("Tanh", count, length);
    const auto [made, found] = pieces(before, after);
    size_t removed = 0, added = 0, wanted = 0, wanted_added = 0;
    for (const GraphDiff::Place& place : found.places) {
      wanted += place.removed.size();
      wanted_added += place.added.size();
    }
    EXPECT_GT(wanted, kMostDrawn);
    for (const GraphDiff::Place& piece : made) {
      EXPECT_LE(piece.changed.size() + piece.removed.size() + piece.added.size(), kMostDrawn);
      removed += piece.removed.size();
      added += piece.added.size();
    }
    EXPECT_EQ(removed, wanted);
    EXPECT_EQ(added, wanted_added);
  }
}

}  // namespace
}  // namespace isomer::report
