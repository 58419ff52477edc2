// Common subexpressions: values that equal expressions define become one, constants of equal contents become one, and
// small integer tensors of equal symbolic contents become the one that is made first; in bodies too. Results of opaque
// nodes stay apart: they may be random. Guarantees equal results bit for bit. Test: tests/passes/merge_equal.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> merge_equal(Graph& graph, PassContext& context);

}  // namespace isomer
