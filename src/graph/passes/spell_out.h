// Writes composite operators out as the primitives of their rows (Gemm, Softmax, LayerNormalization, Gelu, Clip,
// Squeeze …), so that rules match few forms. Only those that `contract` finds again: a node is written out on its own
// first, and left as it is where the way back does not lead to one node. Test: tests/passes/spell_out.txt
#pragma once

#include <set>

#include "graph/passes/pass.h"

namespace isomer {

Result<int> spell_out(Graph& graph, PassContext& context);

}  // namespace isomer
