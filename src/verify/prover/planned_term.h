// What a pattern is in an e-graph with its names bound: nodes that are there, and those that are to be made for it.
// Test: tests/substitutions/consequence_test.cpp
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "verify/prover/egraph.h"
#include "verify/prover/pattern.h"

namespace isomer::verify {

struct PlannedTerm {
  int node = -1;  ///< -1: to be made
  int type = -1, operation = 0, output = 0;
  std::vector<PlannedTerm> arguments;

  /// Nodes to be made, at most.
  int new_nodes() const;
};

/// Nothing where it is not well typed. Adds no node but of numbers; tensors are nodes.
std::optional<PlannedTerm> plan(const Pattern& pattern, const SlotValues& values,
                                const std::vector<std::string>& integers, EGraph& graph, Signatures& signatures);

/// Its node; what must be equal that the node is this very term is added to the premises.
int make(const PlannedTerm& planned, EGraph& graph, std::vector<std::pair<int, int>>& premises);

}  // namespace isomer::verify
