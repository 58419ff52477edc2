#include "search/code/task_graph.h"

namespace isomer::search {
namespace {

void add(const TaskGraph& region, int depth, std::vector<PlacedTask>& all) {
  for (const GraphTask& task : region.tasks) {
    all.push_back({region.graph, &task, depth});
    for (const TaskGraph& body : task.bodies) add(body, depth + 1, all);
  }
}

}  // namespace

std::vector<PlacedTask> all_tasks(const TaskGraph& whole) {
  std::vector<PlacedTask> all;
  add(whole, 0, all);
  return all;
}

}  // namespace isomer::search
