// Trials that the records have, as candidates again. Test: tests/tune/trials_test.cpp
#pragma once

#include <functional>

#include "kernel/machine.h"
#include "kernel/records.h"
#include "tune/candidates.h"

namespace isomer::tune {

/// The candidate of a trial, by its number; for several threads at once.
using ShowTrial = std::function<void(size_t trial, const Candidate& candidate, const kernel::Machine& machine)>;

/// Shows all that still come to what was decided then, in any order. Errors: the task is not among them, or damaged.
Result<void> replay(const kernel::Trials& trials, const kernel::Space& space, const ShowTrial& show);

}  // namespace isomer::tune
