#include "search/scheduled_task.h"

namespace isomer {

ScheduledTask finish(const kernel::Schedule& schedule, int64_t flops) {
  ScheduledTask made{schedule.trace(), schedule.finish(), {}, flops, {}};
  made.constants = take_constant_parts(made.kernel);
  return made;
}

}  // namespace isomer
