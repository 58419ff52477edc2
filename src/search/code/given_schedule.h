// Schedules written by hand: traces and templates that replace what the space makes of a task, or some of its
// decisions, the others left open. Tests: tests/cli/schedule_test.cpp
#pragma once

#include <string>
#include <vector>

#include "kernel/space/template.h"
#include "tune/tuned.h"

namespace isomer::search {

/// For one task and all that are equal to it: they share their kernel.
struct GivenSchedule {
  std::string task;  ///< its number among the tasks of the compilation, or its name
  kernel::Template schedule;
  std::string source;  ///< what errors call it: the file that it was read from
};

/// The task that a number, or the name that no other task has, stands for. Errors: kUsage.
Result<size_t> find_task(const std::string& text, const std::vector<std::string>& names);

/// Whether it is of decisions alone: the rest is open.
bool is_half_open(const kernel::Template& schedule, const kernel::Schedule& laid_out);
/// All schedules that a template stands for, where `space` makes its defaults, by its name where it is a user's.
tune::OwnSpace space_of(const kernel::Template& schedule, const kernel::Space& space, std::string_view name);

/// The trace on a kernel as it was lowered. `laid_out` holds the layouts that the graph gave to the task's inputs and
/// outputs: the trace starts with them and sets no others. What a template or decisions alone leave open is decided as
/// it is preferred. Errors carry the source, and the line or the decision.
Result<kernel::Scheduled> make_given(const GivenSchedule& given, const kernel::Schedule& laid_out,
                                     const kernel::Space& space, const kernel::Machine& machine);

}  // namespace isomer::search
