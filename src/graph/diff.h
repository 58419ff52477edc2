// What changed between two graphs: which nodes stand in both, which of them with other attributes or operands, and
// which in one alone. Values are paired by the expressions that make them, by name, and by the nodes around them. For
// people: nothing is proved by it. Test: tests/graph/diff_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace isomer {

struct GraphDiff {
  struct Pair {
    NodeId before, after;
  };
  std::vector<Pair> same;
  /// By ValueId::index of the second graph: the value of the first one that it stands for.
  std::vector<ValueId> paired;

  /// Nodes that changed, were removed or added, those that hang together: what was rewritten in one place.
  struct Place {
    std::vector<Pair> changed;           ///< one operator, whose attributes or operands differ
    std::vector<NodeId> removed, added;  ///< of the first graph, of the second
  };
  std::vector<Place> places;

  bool is_empty() const { return places.empty(); }
};

/// Without subgraphs: a node whose body differs has changed.
GraphDiff diff(const Graph& before, const Graph& after);

}  // namespace isomer
