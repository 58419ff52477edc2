// A task whose schedule is made: what code is generated from. Tests: tests/search/compile_test.cpp
#pragma once

#include <vector>

#include "kernel/space/module.h"
#include "search/constant_parts.h"

namespace isomer {

struct ScheduledTask {
  kernel::Trace trace;
  kernel::Kernel kernel;                       ///< without what depends on constants alone
  ConstantParts constants;                     ///< that
  int64_t flops = 0;                           ///< of the task: twice the products of sums, once everything else
  std::vector<kernel::Builder::Made> choices;  ///< that led to it, as far as they are known
};

ScheduledTask finish(const kernel::Schedule& schedule, int64_t flops);

}  // namespace isomer
