// How values lie in memory (DESIGN.md 7, layouts): channels last where reductions gain more by vectors along the
// channels than relayouts take, row-major elsewhere, with a task between where both meet. Tests:
// tests/search/layouts_test.cpp
#pragma once

#include <vector>

#include "search/tasks/task.h"
#include "search/tasks/task_plan.h"
#include "search/tasks/task_table.h"

namespace isomer::search {

/// What is around a graph: nothing, or the model that it is a part of.
enum class Surroundings : uint8_t { kWhole, kPart };

/// The tasks with layouts for their inputs and outputs, and tasks that change layouts where values need it: the least
/// bytes are moved so (a minimum cut between the tasks that want one or the other; what a reduction loses in the layout
/// that it does not want counts as bytes, too). Constants of the graph are
/// row-major, and its inputs and outputs too, unless it is a part of another graph: then they lie as suits it.
Result<std::vector<Task>> assign_layouts(const Graph& graph, std::vector<Task> tasks, Surroundings surroundings,
                                         TaskDecider& decider, TaskTable& table);
/// As preferred.
Result<std::vector<Task>> assign_layouts(const Graph& graph, std::vector<Task> tasks,
                                         Surroundings surroundings = Surroundings::kWhole);

}  // namespace isomer::search
