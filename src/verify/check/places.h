// Integers that say where something is, not how much of it there is. Tests: tests/verify/equivalence_test.cpp
#pragma once

#include <vector>

#include "graph/graph.h"

namespace isomer {

/// Of each output whether its elements are, or are made of, integers that a search among elements found: where the
/// largest one lies, in which order they are, which of them are kept. Two such are as close whatever their distance is.
std::vector<bool> outputs_of_places(const Graph& graph);

}  // namespace isomer
