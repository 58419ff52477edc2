// Large places of a difference cut into pieces that can be looked at. Test: tests/report/pieces_test.cpp
#pragma once

#include <vector>

#include "graph/diff.h"

namespace isomer::report {

/// Nodes of one drawing.
inline constexpr size_t kMostDrawn = 48;

/// The place, or, where it has more nodes, what is left of it without the values that most of its nodes read: fewer
/// and fewer may, until the pieces are small. What is larger even so is cut, in order.
std::vector<GraphDiff::Place> pieces_of(const GraphDiff::Place& place, const Graph& before, const Graph& after,
                                        const GraphDiff& diff);

}  // namespace isomer::report
