#include "kernel/default_schedule.h"

#include <algorithm>

#include "kernel/default_scheduler.h"

namespace isomer::kernel {

Schedule Scheduler::run() {
  inline_maps();
  (void)tried(schedule_.collapse());
  std::vector<std::string> last_first = schedule_.blocks();
  std::reverse(last_first.begin(), last_first.end());
  for (const std::string& name : last_first)
    if (is_transform(name)) schedule_transform(name);
  for (const std::string& name : schedule_.blocks())
    if (alone(name) && block(name).is_reduction()) share_reduction(name);
  for (const std::string& name : schedule_.blocks())
    if (alone(name) && block(name).is_reduction()) schedule_rows_inside(name);
  for (const std::string& name : schedule_.blocks())
    if (alone(name) && block(name).is_reduction()) schedule_tiles(name);
  for (const std::string& name : schedule_.blocks())
    if (is_step(name)) {
      schedule_step(name);
      share_step(name);
    }
  std::vector<std::string> rest = schedule_.blocks();
  std::reverse(rest.begin(), rest.end());
  for (const std::string& name : rest) {
    if (!alone(name)) continue;  // under another block's loops already, or part of something ordered
    if (block(name).is_reduction()) {
      schedule_rows(name);
    } else {
      schedule_map(name);
    }
  }
  return std::move(schedule_);
}

Block Scheduler::block(const std::string& name) const {
  Kernel copy = kernel();
  return find_block(copy, name)->block();
}

bool Scheduler::alone(const std::string& name) const {
  Kernel copy = kernel();
  const auto place = find_block(copy, name);
  if (!place.ok() || place->ancestors.empty()) return false;
  return std::all_of(place->ancestors.begin(), place->ancestors.end(), [](const Statement* ancestor) {
    const auto* loop = std::get_if<Loop>(&ancestor->node);
    return loop && !loop->ordered && loop->body.size() == 1 && loop->kind == LoopKind::kSerial &&
           te::as_constant(loop->extent);
  });
}

bool Scheduler::is_step(const std::string& name) const {
  Kernel copy = kernel();
  const auto place = find_block(copy, name);
  if (!place.ok()) return false;
  bool is_ordered = false, is_free = true;
  for (const Statement* ancestor : place->ancestors) {
    const auto* loop = std::get_if<Loop>(&ancestor->node);
    if (!loop) return false;
    is_ordered |= loop->ordered;
    is_free = loop->ordered ||
              (is_free && loop->body.size() == 1 && loop->kind == LoopKind::kSerial && te::as_constant(loop->extent));
  }
  return is_ordered && is_free && !std::get<Loop>(place->ancestors.back()->node).ordered;
}

LoopIds Scheduler::inner_loops(const std::string& name, LoopId around) const {
  Kernel copy = kernel();
  LoopIds result;
  for (const Loop* loop : find_block(copy, name)->loops()) {
    if (loop->ordered || loop->variable == around.variable) {
      result.clear();
    } else {
      result.push_back({loop->variable});
    }
  }
  return result;
}

int64_t Scheduler::extent(LoopId id) const {
  Kernel copy = kernel();
  return te::as_constant(find_loop(copy, id.variable)->loop().extent).value_or(0);
}

Integers Scheduler::extents(const Block& block) {
  Integers result;
  for (const Iterator& axis : block.axes) result.push_back(te::as_constant(axis.extent).value_or(0));
  return result;
}

int64_t Scheduler::iterations(const LoopIds& loops) const {
  int64_t count = 1;
  for (const LoopId loop : loops) count *= extent(loop);
  return count;
}

int Machine::lanes(DataType dtype) const { return std::max(1, vectors.bits / std::max(bit_width(dtype), 32)); }

Schedule default_schedule(Schedule schedule, const Machine& machine, const std::set<int>& constants) {
  return Scheduler(std::move(schedule), machine, constants).run();
}

}  // namespace isomer::kernel
