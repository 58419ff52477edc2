#pragma once

#include "graph/graph.h"
#include "util/result.h"

namespace isomer {

/// Convolutions (OpDef::groups) in groups of fewer than `lanes` output channels become ones in fewer groups, with
/// weights that are 0 between the channels of groups that were apart: vectors of lanes run along channels of one group
/// then. More products, fewer steps; for kernels, not for files. Depthwise ones are left. Returns how many were
/// changed.
Result<int> widen_groups(Graph& graph, int64_t lanes);

}  // namespace isomer
