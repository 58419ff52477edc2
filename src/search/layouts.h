// How values lie in memory (DESIGN.md 7, layouts): channels last where reductions with constant operands want vectors along
// the channels, row-major elsewhere, with a task between where both meet. Tests: tests/search/layouts_test.cpp
#pragma once

#include <vector>

#include "search/task.h"

namespace isomer {

/// The tasks with layouts for their inputs and outputs, and tasks that change layouts where values need it: the least bytes
/// are moved so (a minimum cut between the tasks that want one or the other). Inputs, outputs and constants of the graph
/// are row-major.
Result<std::vector<Task>> assign_layouts(const Graph& graph, std::vector<Task> tasks);

}  // namespace isomer
