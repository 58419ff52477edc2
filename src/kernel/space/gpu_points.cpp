#include "kernel/space/gpu_modules.h"
#include "kernel/space/loops.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {

void schedule_points(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block before = view.block(name);
  const auto work = points(before);
  if (!work || *work == 0 || before.axes.empty()) return;
  Schedule& schedule = builder.schedule;
  std::string sums;
  if (before.is_reduction())
    if (auto made = schedule.cache_write(name); made.ok()) sums = *std::move(made);
  LoopIds loops = view.inner_loops(name);
  // Of a reduction that writes its results itself, those over axes.
  loops.resize(std::min(loops.size(), before.axes.size()));
  if (loops.empty()) return;
  if (view.is_alone(name) && !view.block(name).is_reduction()) loops = in_memory_order(builder, name);
  if (loops.size() > 1) {
    const auto fused = schedule.fuse(loops);
    if (!fused.ok()) return;
    loops = {*fused};
  }
  const int64_t threads = builder.decide(name, "threads", {32, 64, 128, 256, 512}, 128);
  const auto parts = schedule.split(loops[0], Integers{-1, threads});
  if (!parts.ok() || !tried(schedule.bind((*parts)[0], "block.x"))) return;
  (void)tried(schedule.bind((*parts)[1], "thread.x"));
  if (!sums.empty() && tried(schedule.compute_at(sums, (*parts)[1])))
    (void)tried(schedule.set_scope(view.buffer(view.block(sums).writes[0].buffer).name, "registers"));
}

Module gpu_points() {
  return {"gpu_points",
          [](const View& view, const std::string& name) { return view.is_alone(name) || view.is_step(name); },
          schedule_points};
}

const Space& gpu_space() {
  static const Space space = {
      {false, {inline_maps()}}, {false, {collapse()}},  {false, {gpu_products()}},
      {false, {gpu_rows()}},    {true, {gpu_points()}},
  };
  return space;
}

}  // namespace isomer::kernel
