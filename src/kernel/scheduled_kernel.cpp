#include "kernel/scheduled_kernel.h"

namespace isomer::kernel {

ScheduledKernel finish(const Schedule& schedule, int64_t flops) {
  ScheduledKernel made{schedule.trace(), schedule.finish(), {}, flops, {}};
  made.constants = take_constant_parts(made.kernel);
  return made;
}

}  // namespace isomer::kernel
