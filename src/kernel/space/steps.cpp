
#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

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

Module steps() {
  return {"steps", [](const View& view, const std::string& name) { return view.is_step(name); },
          [](Builder& builder, const std::string& name) {
            lay_out_step(builder, name);
            share_step(builder, name);
          }};
}

}  // namespace isomer::kernel
