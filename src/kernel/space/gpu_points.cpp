#include "kernel/space/gpu_modules.h"
#include "kernel/space/loops.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {

int64_t bytes_of(const Schedule& schedule, Scope scope) {
  int64_t bytes = 0;
  for (const Buffer& buffer : schedule.finish().buffers)
    if (buffer.scope == scope)
      bytes += element_count(buffer.shape).constant().value_or(kSharedBytes) * bit_width(buffer.dtype) / 8;
  return bytes;
}

Result<std::string> sum_apart(Builder& builder, const std::string& name) {
  const std::string epilogue = builder.view.epilogue(builder.view.block(name));
  auto sums = builder.schedule.cache_write(name);
  if (sums.ok() && !epilogue.empty()) (void)tried(builder.schedule.reverse_compute_inline(epilogue));
  return sums;
}

namespace {

/// Points from which on threads are many enough with several each.
constexpr int64_t kManyPoints = 1 << 20;
constexpr int64_t kVectorBytes = 16;

/// How many points side by side a thread of a map computes: as many as a vector holds, where that is how they are read.
int64_t decide_elements(Builder& builder, const std::string& name, int64_t points) {
  const Block& block = builder.view.block(name);
  if (block.is_reduction() || block.writes.size() != 1) return 1;
  const int64_t vector = kVectorBytes * 8 / bit_width(builder.view.buffer(block.writes[0].buffer).dtype);
  const bool is_streamed = builder.view.is_flat(block) && points >= kManyPoints && points % vector == 0;
  return builder.decide(name, "elements", {1, 2, 4, 8, 16}, is_streamed ? std::min<int64_t>(vector, 16) : 1);
}

/// A thread for each point of the axes, which sums up in a register where `in_register`. Whether that could be done.
bool lay_out(Builder& builder, const std::string& name, bool in_register) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const size_t rank = view.block(name).axes.size();
  std::string sums;
  if (in_register) {
    auto made = sum_apart(builder, name);
    if (!made.ok()) return false;
    sums = *std::move(made);
  }
  LoopIds loops = view.inner_loops(name);
  // Of a reduction that writes its results itself, those over axes.
  loops.resize(std::min(loops.size(), rank));
  if (loops.empty()) return false;
  if (view.is_alone(name) && !view.block(name).is_reduction()) loops = in_memory_order(builder, name);
  // A thread takes all steps of its place, where no other place needs them: one launch instead of one a step.
  const auto steps = view.steps_around(name);
  if (steps && !view.block(name).is_reduction() && builder.decide(name, "all_steps_of_a_place", true)) {
    LoopIds order = loops;
    order.push_back(*steps);
    (void)tried(schedule.reorder(order));
  }
  if (loops.size() > 1) {
    const auto fused = schedule.fuse(loops);
    if (!fused.ok()) return false;
    loops = {*fused};
  }
  const int64_t threads = builder.decide(name, "threads", {32, 64, 128, 256, 512}, 128);
  const int64_t elements = in_register ? 1 : decide_elements(builder, name, view.extent(loops[0]));
  const auto parts = elements == 1 ? schedule.split(loops[0], Integers{-1, threads})
                                   : schedule.split(loops[0], Integers{-1, threads, elements});
  if (!parts.ok() || !tried(schedule.bind((*parts)[0], "block.x"))) return false;
  (void)tried(schedule.bind((*parts)[1], "thread.x"));
  if (elements > 1) (void)tried(schedule.unroll((*parts)[2]));
  if (!in_register) return true;
  if (!tried(schedule.compute_at(sums, (*parts)[1])) ||
      !tried(schedule.set_scope(view.buffer(view.block(sums).writes[0].buffer).name, "registers")))
    return false;
  // Where the copy reads by what is no sum of its loops, more than its own point is computed.
  LoopIds own = view.inner_loops(sums, (*parts)[1]);
  own.resize(std::min(own.size(), rank));
  return view.iterations(own) == 1 && bytes_of(schedule, Scope::kRegister) <= kSumBytes;
}

void schedule_points(Builder& builder, const std::string& name) {
  const Block block = builder.view.block(name);
  const auto work = points(block);
  if (!work || *work == 0 || block.axes.empty()) return;
  const Schedule before = builder.schedule;
  // A step reads what steps before it wrote.
  const bool is_step = builder.view.is_step(name);
  for (const bool in_register : {true, false}) {
    if (in_register && !block.is_reduction()) continue;
    if (lay_out(builder, name, in_register) && (!is_step || check_launches(builder.schedule.finish()).ok())) return;
    builder.schedule = before;
  }
}

}  // namespace

Module gpu_points() {
  return {"gpu_points",
          [](const View& view, const std::string& name) { return view.is_alone(name) || view.is_step(name); },
          schedule_points};
}

const Space& gpu_space() {
  static const Space space = {
      {false, {wide_sums()}},    {false, {inline_maps()}}, {false, {gpu_windows()}},    {false, {collapse()}},
      {false, {gpu_products()}}, {false, {gpu_rows()}},    {false, {gpu_transposes()}}, {false, {gpu_points()}},
  };
  return space;
}

}  // namespace isomer::kernel
