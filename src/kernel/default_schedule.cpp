#include "kernel/default_schedule.h"

#include "kernel/space/gpu_modules.h"
#include "kernel/space/module.h"

namespace isomer::kernel {

Schedule default_schedule(Schedule schedule, const Machine& machine) {
  Preferring preferring;
  return scheduled(std::move(schedule), default_space(), machine, preferring).schedule;
}

Schedule default_gpu_schedule(Schedule schedule) {
  Preferring preferring;
  return scheduled(std::move(schedule), gpu_space(), Machine(), preferring).schedule;
}

}  // namespace isomer::kernel
