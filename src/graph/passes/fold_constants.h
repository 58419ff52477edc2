// Values that are known become constants: by content inference (a Shape of a fixed shape, what is computed from it),
// and by the interpreter where all inputs are constants. Never grows the model by more than it frees: a constant of
// more than options.largest_grown bytes is made only where as many bytes of other constants lose their last reader, or
// by options.decodes or options.largest_built. With options.keep_composites nothing is made of what is dequantized.
// Results are rounded to their type after every node, as a runtime would; those of functions like exp, or of float
// sums, may differ from a runtime's in the last bit and need level 2. Test: tests/passes/fold_constants.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

/// Whether the node's values are small enough, and computed fast enough, once its inputs are constants.
bool can_be_folded(const Graph& graph, NodeId id);

Result<int> fold_constants(Graph& graph, PassContext& context);

}  // namespace isomer
