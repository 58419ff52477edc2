#include "search/region.h"

namespace isomer {
namespace {

void add(const Region& region, int depth, std::vector<PlacedTask>& all) {
  for (const RegionTask& task : region.tasks) {
    all.push_back({region.graph, &task, depth});
    for (const Region& body : task.bodies) add(body, depth + 1, all);
  }
}

}  // namespace

std::vector<PlacedTask> all_tasks(const Region& whole) {
  std::vector<PlacedTask> all;
  add(whole, 0, all);
  return all;
}

}  // namespace isomer
