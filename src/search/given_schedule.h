// Schedules written by hand: traces that replace what the space makes of a task, or some of its decisions, the others
// left open.
// Tests: tests/cli/schedule_test.cpp
#pragma once

#include <string>
#include <vector>

#include "kernel/space/module.h"

namespace isomer {

/// For one task and all that are equal to it: they share their kernel.
struct GivenSchedule {
  std::string task;  ///< its number among the tasks of the compilation, or its name
  kernel::Trace trace;
  std::string source;  ///< what errors call it: the file that it was read from
};

/// The task that a number, or the name that no other task has, stands for. Errors: kUsage.
Result<size_t> find_task(const std::string& text, const std::vector<std::string>& names);

/// The trace on the kernel as it was lowered. `laid_out` holds the layouts that the graph gave to the task's inputs and
/// outputs: the trace starts with them and sets no others. A trace of decisions alone is half open: what it does not
/// decide is decided as the space prefers. Errors carry the source, and the line or the decision.
Result<kernel::Scheduled> make_given(const GivenSchedule& given, kernel::Kernel lowered,
                                     const kernel::Schedule& laid_out, const kernel::Space& space,
                                     const kernel::Machine& machine);

}  // namespace isomer
