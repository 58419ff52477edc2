// A conversion of a conversion whose first loses nothing becomes one from the first type, or nothing where that is the
// last type. Only where every value of the first type is one of the type between, so results are equal bit for bit.
// Test: tests/passes/merge_casts.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> merge_casts(Graph& graph, PassContext& context);

}  // namespace isomer
