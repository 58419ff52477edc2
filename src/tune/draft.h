// A guess at what a candidate takes, from counts alone, before anything like it was measured (the draft of Pruner: Qiao
// et al. 2025). Test: tests/tune/draft_test.cpp
#pragma once

#include "kernel/machine.h"
#include "tune/features.h"

namespace isomer::tune {

/// Cycles of one core, by which one task's candidates may be compared: rounds of what is written out take what their
/// arithmetic, loads and stores do, more where results don't fit the registers, conditions differ within, or lanes lie
/// apart; so does what comes from beyond a cache. Infinite where too much is written out. bench/README.md, Tuning, says
/// how good it is, and what its constants are fitted to.
double drafted_cycles(const Features& features, const kernel::Machine& machine);

}  // namespace isomer::tune
