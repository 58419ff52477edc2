// Rows whose number data decide, computed some at a time: sizes are known inside of a loop over them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace isomer {

/// Nodes of which row i of each output, along the first axis, is made of row i of what they read of `rows`, and of
/// values that have no rows.
struct RowNodes {
  std::vector<NodeId> nodes;     ///< in the order in which they run
  std::vector<ValueId> rows;     ///< that come from elsewhere; all of one size along their first axis
  std::vector<ValueId> outputs;  ///< that are read elsewhere
};

/// The nodes become a Loop that computes `at_once` rows in each iteration; of the last ones there some are computed
/// again, and cut off. Their outputs keep their names and types. Errors: what the body's nodes make is no such row.
Result<void> loop_over_rows(Graph& graph, const RowNodes& rows, int64_t at_once);

}  // namespace isomer
