// What users of include/isomer/schedule.h add to the search space, as the kernel's own modules.
#pragma once

#include "isomer/schedule.h"
#include "kernel/codegen_llvm.h"
#include "kernel/micro_kernel.h"
#include "kernel/space/module.h"

namespace isomer {

/// What modules are told of the machine.
Machine machine_for_users(const kernel::CpuTarget& target, const kernel::Machine& machine);

/// The default space with modules of users. Their first error is kept in `failure`; what made it leaves the schedule as
/// it was. Both, and the machine, outlive the space. Errors: a place or a name that there is not.
Result<kernel::Space> space_with(const std::vector<ScheduleModule>& modules, const Machine& machine,
                                 std::optional<Failure>& failure);

kernel::MicroKernel micro_kernel_of(const MicroKernel& given);

}  // namespace isomer
