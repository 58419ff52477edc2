#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Of a run through memory, computed at a time before its next step is: a page.
constexpr int64_t kRunBytes = 4096;
/// Places that lie apart in memory, computed at a time: their chains of steps hide each other's latency.
constexpr int64_t kChains = 8;

/// Vectors, and tiles of registers that live through the reduction.
void lay_out_step(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block step = view.block(name);
  const LoopIds loops = view.inner_loops(name);
  if (loops.size() != step.axes.size() + step.reduce.size() || step.writes.size() != 1 || step.bodies.size() != 1)
    return;
  if (!step.is_reduction()) return vectorize(builder, loops.back(), name);
  const Schedule before = builder.schedule;
  const Tiled reduction{name, extents_of(step), view.stored_strides(step), true};
  Tile tile = choose_tile(builder, reduction);
  if (tile.vector_axis < 0 || !pack(builder, reduction, tile) || !lay_out_inside(builder, name, tile, loops))
    builder.schedule = before;
}

void share_step(Builder& builder, const std::string& name) {
  const Block step = builder.view.block(name);
  const auto count = points(step);
  if (!count || step.bodies.size() != 1) return;
  LoopIds outer;
  for (const Loop* loop : place_of_block(builder.kernel(), name).loops()) {
    if (loop->ordered) continue;
    if (loop->kind != LoopKind::kSerial || reads_any(step.reduce, loop->variable)) break;
    outer.push_back({loop->variable});
    if (loop->body.size() > 1) break;
  }
  parallelize(builder, name, outer, *count * (step.is_reduction() ? 1 : count_operations(step.bodies[0])));
}

}  // namespace

bool take_all_steps(Builder& builder, const std::string& name, const LoopIds& loops) {
  const View& view = builder.view;
  const Block step = view.block(name);
  const auto steps = view.steps_around(name);
  const auto extent = loops.empty() ? std::optional<int64_t>(0)
                                    : te::as_constant(loop_of(view.kernel(), loops.back().variable)->extent);
  if (!steps || extent == 0 || !builder.decide(name, "all_steps_of_a_place", true)) return false;
  const Schedule before = builder.schedule;
  const bool in_runs = write_strides(view.kernel(), step).back() == 1;
  const int64_t places = in_runs ? kRunBytes / view.lane_bytes(step) : kChains;
  const auto parts = builder.schedule.split(loops.back(), {-1, std::min(places, extent.value_or(places))});
  if (!parts.ok()) return false;
  LoopIds order(loops.begin(), loops.end() - 1);
  order.insert(order.end(), {(*parts)[0], *steps, (*parts)[1]});
  if (!tried(builder.schedule.reorder(order))) {
    builder.schedule = before;
    return false;
  }
  if (in_runs) {
    vectorize(builder, (*parts)[1], name);
  } else {
    (void)tried(builder.schedule.unroll((*parts)[1]));
  }
  order.resize(loops.size());
  const auto count = points(step);
  if (count) parallelize(builder, name, order, *count * view.extent(*steps) * count_operations(step.bodies[0]));
  return true;
}

Module steps() {
  return {"steps", [](const View& view, const std::string& name) { return view.is_step(name); },
          [](Builder& builder, const std::string& name) {
            const Block step = builder.view.block(name);
            if (!step.is_reduction() && take_all_steps(builder, name, builder.view.inner_loops(name))) return;
            lay_out_step(builder, name);
            share_step(builder, name);
          }};
}

}  // namespace isomer::kernel
