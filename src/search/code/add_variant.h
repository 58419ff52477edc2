// From tasks to what a session runs: values with their places, steps, bodies of branches and loops.
// Tests: tests/search/compile_test.cpp, tests/search/control_flow_test.cpp
#pragma once

#include "kernel/scheduled_kernel.h"
#include "runtime/artifact.h"
#include "search/code/task_graph.h"

namespace isomer::search {

/// Adds the variant that runs a graph; its target and bindings are left to the caller. The artifact has the code of
/// `kernels` and the packed weights; other constants become weights here. Errors
/// (kUnsupported): states of a loop that change their shape, by name.
Result<void> add_variant(const TaskGraph& whole, const std::vector<kernel::ScheduledKernel>& kernels,
                         runtime::Artifact& artifact);

}  // namespace isomer::search
