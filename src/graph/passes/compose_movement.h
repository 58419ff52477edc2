// Chains of operators that move elements become one: their index maps are composed, and where the whole is one Reshape,
// Transpose, Expand or Slice (or nothing at all), that stands instead: inverse transposes, a reshape of a reshape, a
// slice of a slice, unsqueeze–transpose–squeeze. Values between that others read stay, so a chain is cut there unless
// it comes back to its start. Bit for bit. Test: tests/passes/compose_movement.txt
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

Result<int> compose_movement(Graph& graph, PassContext& context);

}  // namespace isomer
