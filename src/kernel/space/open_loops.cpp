#include "kernel/space/open_loops.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "kernel/space/loops.h"
#include "kernel/view.h"

namespace isomer::kernel {
namespace {

/// The loop that moves the last index of what the block writes by one, if its extent is a number.
std::optional<LoopId> loop_side_by_side(const View& view, const Block& block, const LoopIds& loops) {
  if (block.writes.size() != 1 || block.writes[0].index.empty()) return std::nullopt;
  const Expr& last = block.writes[0].index.back();
  for (const LoopId loop : loops) {
    const auto axis = axis_along(block, loop);
    if (axis && te::as_constant(te::simplify_index(last - te::axis(static_cast<int>(*axis)))) && view.extent(loop) > 1)
      return loop;
  }
  return std::nullopt;
}

bool lay_out(Schedule& schedule, const View& view, const std::string& name) {
  const Block block = view.block(name);
  LoopIds loops = view.inner_loops(name);
  const auto along = loop_side_by_side(view, block, loops);
  if (!along) return false;
  if (loops.back() != *along) {
    std::erase(loops, *along);
    loops.push_back(*along);
    if (!schedule.reorder(loops).ok()) return false;
  }
  const int64_t lanes = view.lanes(block), extent = view.extent(*along);
  if (extent <= lanes) return schedule.vectorize(*along).ok();
  const auto parts = schedule.split(*along, Integers{-1, lanes});
  if (!parts.ok()) return false;
  // The last vector's lanes beyond the end are left out.
  if (extent % lanes == 0 || schedule.peel((*parts)[0], "last").ok()) return schedule.vectorize((*parts)[1]).ok();
  return false;
}

}  // namespace

Schedule with_lanes(Schedule schedule, const Machine& machine) {
  for (const std::string& name : schedule.blocks()) {
    Schedule changed = schedule;
    const View view(changed, machine);
    if (view.has_block(name) && lay_out(changed, view, name)) schedule = std::move(changed);
  }
  return schedule;
}

}  // namespace isomer::kernel
