// A graph with one small thing changed, so that it is another.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "util/random.h"

namespace isomer::test {

struct Mutant {
  Graph graph;
  std::string change;
};

/// Nothing where the change that chance chose is not possible.
std::optional<Mutant> mutated(const Graph& graph, Random& random);

}  // namespace isomer::test
