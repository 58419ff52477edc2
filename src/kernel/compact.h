// The last steps of a schedule: thread-private buffers shrink to what one iteration of the loops around their uses
// needs, and predicates are asked outside of the loops that they say nothing of.
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// Every buffer in cache or registers gets the shape of the region that is used below the innermost loop around all its
/// uses; indices are relative to that region. Buffers that nothing uses are left without elements.
void compact(Kernel& kernel);

/// What a block's predicate says of loops outside of others that hold nothing else becomes a branch around those. Where
/// it cuts through a tile of a reduction, tiles that lie inside of it are computed without.
void hoist_predicates(Kernel& kernel);

}  // namespace isomer::kernel
