// Constant operands of pointwise operators in their smallest shape: leading axes of extent 1 dropped where broadcasting
// gives the same result, and a constant of equal elements as one element. So x + [[1]] and x + 1 are one spelling, and
// a tensor full of one number costs four bytes. Bit for bit. Test: tests/passes/shrink_constants.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> shrink_constants(Graph& graph, PassContext& context);

}  // namespace isomer
