// What users of include/isomer/schedule.h add to the search space, as the kernel's own modules.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isomer/schedule.h"
#include "kernel/codegen_llvm.h"
#include "kernel/micro_kernel.h"
#include "kernel/space/module.h"

namespace isomer {

/// What modules are told of the machine.
Machine machine_for_users(const kernel::CpuTarget& target, const kernel::Machine& machine);

/// The first thing that a module could not do; nothing more is done then. While a model is tuned that ends nothing.
class ModuleFailure {
 public:
  void tell(std::string sentence) {
    if (!ends_) return;
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = Failure{std::move(sentence)};
  }
  bool has_any() const {
    const std::lock_guard lock(mutex_);
    return first_.has_value();
  }
  /// Where there is any, and no module runs any more.
  const std::string& sentence() const { return first_->sentence; }
  /// From now on a failure is no more than a choice against the module. Before modules run on several threads.
  void end_nothing() { ends_ = false; }

 private:
  bool ends_ = true;
  mutable std::mutex mutex_;
  std::optional<Failure> first_;
};

/// The default space with modules of users. What can't do what it is to leaves the schedule as it was, and is told.
/// All, and the machine, outlive the space. Errors: a place or a name that there is not.
Result<kernel::Space> space_with(const std::vector<ScheduleModule>& modules, const Machine& machine,
                                 ModuleFailure& failure);
/// What records tell it by; empty where nothing is a user's.
std::string name_of_space(const std::vector<ScheduleModule>& modules, const std::vector<MicroKernel>& micro_kernels);

kernel::MicroKernel micro_kernel_of(const MicroKernel& given);

}  // namespace isomer
