// Schedules that were tuned, in the records. Test: tests/tune/tuner_test.cpp
#pragma once

#include <optional>
#include <string>

#include "kernel/records.h"
#include "kernel/space/module.h"
#include "measure/kernel_clock.h"

namespace isomer::tune {

/// What a user has schedules of a task made by.
struct OwnSpace {
  std::string name;  ///< that records tell its schedules by: of what it is made of
  kernel::Space space;
};

/// What records call who chose a schedule ("default", "tuned") for kernels that find their weights so; of a space that
/// is not the default one; where schedules lack a part, to measure what it gives (", without packing").
std::string maker_of(std::string_view who, Weights weights, std::string_view own = {}, std::string_view without = {});

/// "float32[1,56,56,64] const float32[64,64,3,3] -> float32[1,56,56,64]", for people.
std::string types_of(const kernel::Kernel& kernel);

/// The best one of a task that was faster than its default schedule in turns, as the records have it. The records
/// outlive it.
class TunedSchedules {
 public:
  /// As maker_of tells them apart.
  TunedSchedules(const kernel::Records& records, std::string target, Weights weights, std::string_view own = {},
                 std::string_view without = {});

  /// Nothing where there is none, where the records know the default schedule to be as fast, or where its decisions
  /// come to another schedule by now. Errors: those of the records.
  Result<std::optional<kernel::Scheduled>> find(const Hash128& task, const kernel::Schedule& start,
                                                const kernel::Space& space, const kernel::Machine& machine) const;

 private:
  const kernel::Records& records_;
  const std::string target_, generator_, maker_, default_maker_;
};

}  // namespace isomer::tune
