// Tasks of sizes that data decide: no module makes schedules of them, but what lies side by side fills vectors.
// Test: tests/search/open_sizes_test.cpp
#pragma once

#include "kernel/machine.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

/// Each block's loop along which its results lie side by side, where its extent is known, becomes the innermost one, in
/// lanes; reductions go around it.
Schedule with_lanes(Schedule schedule, const Machine& machine);

}  // namespace isomer::kernel
