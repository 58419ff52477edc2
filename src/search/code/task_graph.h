// A graph whose tasks have kernels, with those of the bodies that they run. Tests: tests/search/compile_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "search/tasks/task.h"

namespace isomer::search {

struct TaskGraph;

struct GraphTask {
  Task task;
  std::string name;
  int view_of = -1;               ///< of which input it is a view; then it has no kernel
  int kernel = -1;                ///< of the artifact; -1: a view, or it runs bodies
  std::map<int, int> packed;      ///< by buffer of the kernel: the weight that has its content already
  std::vector<TaskGraph> bodies;  ///< then and else of a branch, the body of a loop
};

struct TaskGraph {
  const Graph* graph = nullptr;
  std::vector<GraphTask> tasks;  ///< in an order in which they can run
};

/// A task of a region, or of the bodies that its tasks run.
struct PlacedTask {
  const Graph* graph;
  const GraphTask* task;
  int depth;  ///< in bodies of so many tasks
};

/// All of them, those of bodies behind the task that runs them: as they are numbered.
std::vector<PlacedTask> all_tasks(const TaskGraph& whole);

}  // namespace isomer::search
