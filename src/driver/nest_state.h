// What stands behind the classes of include/isomer/schedule.h.
#pragma once

#include "isomer/schedule.h"
#include "kernel/space/builder.h"

namespace isomer {
namespace detail {

struct NestState {
  const kernel::View& view;
  const Machine& machine;
  kernel::Builder* builder;        ///< nullptr where only questions are asked
  std::optional<Failure>* misuse;  ///< what a function without a result was asked wrongly
};

class ScheduleAccess {
 public:
  static Nest nest(NestState& state) { return Nest(state); }
  static Schedule schedule(NestState& state) { return Schedule(Nest(state), state); }
};

}  // namespace detail

/// What the steps return, or the sentence of NoValue that they throw.
Expected<void> succeeded(const std::function<Expected<void>()>& steps);

}  // namespace isomer
