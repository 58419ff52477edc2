// Scales and shifts of channels go into weights and biases: BatchNormalization, and Mul, Div, Add, Sub by constants,
// into the Conv, ConvTranspose, Gemm or MatMul before, or after. Before: nothing else reads what lies between, which is
// no graph output. After: every reader can take it, and a shift needs a reader without padding. A BatchNormalization
// after a MatMul leaves its shift as an Add. Equal in the reals; weights are computed in double and rounded once, and
// no copy of weights is made that costs more than the growth allowed. Test: tests/passes/fold_affine.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> fold_affine(Graph& graph, PassContext& context);

}  // namespace isomer
