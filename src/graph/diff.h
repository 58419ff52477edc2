// What changed between two graphs: which nodes stand in both, which of them with other attributes or operands, and
// which in one alone; and what they take and give. Values are paired by the expressions that make them, by name, and by
// the nodes around them. For people: nothing is proved by it. Test: tests/graph/diff_test.cpp
#pragma once

#include <string>
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

  /// An input or output, by its name, that is there in one graph alone, or of another type, in another order, or, an
  /// output, another value.
  struct InterfaceChange {
    enum class Kind { kChanged, kRemoved, kAdded } kind;
    std::string what;  ///< for people: "output a: now what b was"
    bool operator==(const InterfaceChange&) const = default;
  };
  std::vector<InterfaceChange> interface;

  bool is_empty() const { return places.empty() && interface.empty(); }
};

/// Which names of inputs and outputs are one.
enum class Ports {
  kByName,   ///< a model's
  kByPlace,  ///< a body's: whoever runs it counts them
};

/// Without subgraphs: a node whose body differs has changed.
GraphDiff diff(const Graph& before, const Graph& after, Ports ports = Ports::kByName);

}  // namespace isomer
