#include "kernel/space/gpu_modules.h"

namespace isomer::kernel {
namespace {

/// Steps of a reduction from which on a block of threads shares them, and results from which on there are threads
/// enough without.
constexpr int64_t kLongReductionOfBlock = 64, kManyThreads = 1 << 16;

void share_row(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block block = view.block(name);
  const auto work = points(block);
  if (!work || *work == 0 || block.axes.empty()) return;
  const size_t rank = block.axes.size();
  const LoopIds loops = view.loops(name);
  if (loops.size() != rank + block.reduce.size()) return;
  const LoopIds rows(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank)),
      steps(loops.begin() + static_cast<std::ptrdiff_t>(rank), loops.end());
  const int64_t results = view.iterations(rows), length = *work / results;
  if (!builder.decide(name, "share_row", length >= kLongReductionOfBlock && results <= kManyThreads)) return;
  const Schedule before = builder.schedule;
  Schedule& schedule = builder.schedule;
  const auto lay_out = [&] {
    const auto row = rows.size() == 1 ? Result<LoopId>(rows[0]) : schedule.fuse(rows);
    const auto step = steps.size() == 1 ? Result<LoopId>(steps[0]) : schedule.fuse(steps);
    if (!row.ok() || !step.ok() || !tried(schedule.bind(*row, "block.x"))) return false;
    const int64_t threads = builder.decide(name, "threads", {32, 64, 128, 256, 512}, length >= 1024 ? 256 : 64);
    const auto parts = schedule.split(*step, Integers{-1, threads});
    if (!parts.ok()) return false;
    const auto partial = schedule.rfactor(name, (*parts)[1]);
    if (!partial.ok()) return false;
    for (const Write& write : view.block(*partial).writes)
      if (!tried(schedule.set_scope(view.buffer(write.buffer).name, "shared"))) return false;
    return tried(schedule.reorder({(*parts)[1], (*parts)[0]})) && tried(schedule.bind((*parts)[1], "thread.x"));
  };
  if (!lay_out()) builder.schedule = before;
}

}  // namespace

Module gpu_rows() {
  return {"gpu_rows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          share_row};
}

}  // namespace isomer::kernel
