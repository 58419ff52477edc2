// Accesses that may lie outside of their buffer though no data decide where: Gather by a number that the model holds,
// or by what loops count. (What data decide is told by the loads in it.) Test: tests/search/indices_test.cpp
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// Marks the buffers (Buffer::is_checked) of a kernel as it was lowered, where reads that may be outside, such as those
/// of padding, stand under a condition that speaks of a loop of theirs. Schedules bring such conditions into loops.
void mark_unguarded(Kernel& kernel);

}  // namespace isomer::kernel
