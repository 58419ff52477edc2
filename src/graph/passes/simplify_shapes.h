// Shape plumbing: a Reshape whose target is computed but can be written with literals, 0 (a dim that is kept) and one
// -1 gets a constant target, so that the computation dies; slices of Shape and gathers from it are read where they are
// cheapest. Assumes that symbolic dims are positive where a -1 stands for one. Test: tests/passes/simplify_shapes.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> simplify_shapes(Graph& graph, PassContext& context);

}  // namespace isomer
