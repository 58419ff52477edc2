// A Pad becomes part of the windows that read it: zeros into the pads of Conv and of AveragePool (which then counts
// them), minus infinity into those of MaxPool. Only padding of spatial axes, by constants, not negative, in constant
// mode; never into a pool that rounds its output size up, where padding decides which windows exist. Bit for bit. Test:
// tests/passes/fold_pads.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> fold_pads(Graph& graph, PassContext& context);

}  // namespace isomer
