// Tasks of sizes that data decide. Test: tests/search/open_sizes_test.cpp
#pragma once

#include "kernel/machine.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

/// What is decided for typical sizes, of tiles that are whole whatever the sizes are (shift_inwards): reductions have
/// tiles of results in registers, everything lanes along which its results lie side by side.
Schedule with_open_loops(Schedule start, const Machine& machine);

}  // namespace isomer::kernel
