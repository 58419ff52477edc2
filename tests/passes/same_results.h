// Whether a graph computes what it did before it was changed, on random inputs.
#pragma once

#include "graph/graph.h"

namespace isomer::test {

/// All its nodes, on inputs whose types are known.
bool can_run(const Graph& graph);

/// Bit for bit, or but for folded weights, which are rounded to float32 once more.
void expect_same_results(const Graph& before, const Graph& after, bool is_exact);

}  // namespace isomer::test
