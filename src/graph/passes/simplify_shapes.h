// Shape plumbing: a movement whose shape is computed, but can be written with literals, 0 (a dim that is kept) and one
// -1, is written so, so that the computation dies. Assumes that symbolic dims are positive where a -1 stands for one.
// Test: tests/passes/simplify_shapes.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> simplify_shapes(Graph& graph, PassContext& context);

}  // namespace isomer
