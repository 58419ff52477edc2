// A task whose schedule is made: what code is generated from. Tests: tests/search/compile_test.cpp
#pragma once

#include <vector>

#include "kernel/constant_parts.h"
#include "kernel/space/module.h"

namespace isomer::kernel {

struct ScheduledKernel {
  Trace trace;
  Kernel kernel;                       ///< without what depends on constants alone
  ConstantParts constants;             ///< that
  int64_t flops = 0;                   ///< of the task: twice the products of sums, once everything else
  std::vector<Builder::Made> choices;  ///< that led to it, as far as they are known
};

ScheduledKernel finish(const Schedule& schedule, int64_t flops);

}  // namespace isomer::kernel
