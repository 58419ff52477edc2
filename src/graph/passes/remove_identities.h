// Removes what does nothing: outputs whose tensor expression is a load of an input at the same place (Identity,
// Dropout, a Cast to the same type, Reshape, Transpose, Expand, Pad, Slice, Tile, Concat, Split … that change nothing,
// x * 1, x + 0). Decided from the expression. Test: tests/passes/remove_identities.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> remove_identities(Graph& graph, PassContext& context);

}  // namespace isomer
