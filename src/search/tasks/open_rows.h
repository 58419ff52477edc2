// What is computed for each of a number of rows that data decide: boxes that a detector found, tokens that were chosen.
// Test: tests/search/open_sizes_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer::search {

/// Nodes that work a lot on each such row, an image or a matrix, become loops over some rows at a time (row_loop.h):
/// inside of them sizes are known, so that there are tasks and schedules as elsewhere. (Of vectors all rows together
/// have tiles: kernel/space/open_loops.h.) How many loops there are. Errors: those of inference.
Result<int> compute_some_rows_at_a_time(Graph& graph);

}  // namespace isomer::search
