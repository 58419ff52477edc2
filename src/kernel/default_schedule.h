// The schedule that a task gets without any measurement: the default space (space/module.h), every choice as it is
// preferred. What it looks at are tensor expressions, the machine's vectors, registers and threads; it knows no
// operators (DESIGN.md 7).
#pragma once

#include "kernel/machine.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

/// A valid schedule for any kernel that `lower` gives, of which only layouts of inputs and outputs may have been set.
Schedule default_schedule(Schedule schedule, const Machine& machine);
/// The same for a GPU: nests of `launch.h`. What can't be shared by threads is not bound, and runs in one.
Schedule default_gpu_schedule(Schedule schedule);

}  // namespace isomer::kernel
