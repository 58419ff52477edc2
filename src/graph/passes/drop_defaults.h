// Omits optional inputs that hold everywhere what the operator takes where they are not given: an initial state of
// zeros, whatever its size is; a padding value of 0. Read off the row's two tensor expressions. Zero points stay with
// options.keep_composites. Test: tests/passes/drop_defaults.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> drop_defaults(Graph& graph, PassContext& context);

}  // namespace isomer
