// Removes nodes whose outputs nobody reads, the optional outputs that nobody reads (where no bit of the others counts),
// and values that are neither made nor read; in bodies too, with the captures that no body reads. Assumes that no
// operator has side effects (ONNX has none). Test: tests/passes/remove_dead.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> remove_dead(Graph& graph, PassContext& context);

}  // namespace isomer
