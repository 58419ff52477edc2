#include <algorithm>

#include "kernel/space/gpu_modules.h"

namespace isomer::kernel {
namespace {

/// Results of a thread and of a block of threads, along rows and columns, and steps of the reduction at a time.
struct ProductPlan {
  size_t row_axis = 0, column_axis = 0, reduce_axis = 0;
  int64_t rows = 1, columns = 1, threads_y = 1, threads_x = 1, steps = 1;
};

bool moves(const std::optional<int64_t>& stride) { return stride != 0; }

/// Axes along which one operand each stays where it is; columns lie as the output does.
std::optional<ProductPlan> axes_of(const View& view, const Block& block) {
  if (block.bodies.size() != 1 || block.writes.size() != 1 || block.combine.name != te::sum(DataType::kFloat32).name)
    return std::nullopt;
  const std::vector<LoadAccess> operands = load_accesses(view.kernel(), block);
  if (operands.size() != 2) return std::nullopt;
  const Integers extents = extents_of(block);
  const Strides out = view.stored_strides(block);
  std::optional<ProductPlan> best;
  int64_t best_stride = 0, best_rows = 0;
  for (size_t column = 0; column < extents.size(); ++column)
    for (size_t row = 0; row < extents.size(); ++row) {
      const auto lies_across = [&](const LoadAccess& a, const LoadAccess& b) {
        return moves(a.axes[row]) && !moves(a.axes[column]) && moves(b.axes[column]) && !moves(b.axes[row]);
      };
      if (row == column || extents[row] < 2 || extents[column] < 2 || !out[column]) continue;
      if (!lies_across(operands[0], operands[1]) && !lies_across(operands[1], operands[0])) continue;
      const int64_t stride = std::abs(*out[column]);
      if (best && std::pair(stride, -extents[row]) >= std::pair(best_stride, -best_rows)) continue;
      best = ProductPlan{row, column};
      best_stride = stride;
      best_rows = extents[row];
    }
  return best;
}

std::vector<int64_t> powers_up_to(int64_t most, int64_t limit) {
  std::vector<int64_t> result;
  for (int64_t each = 1; each <= most && each < 2 * limit; each *= 2) result.push_back(each);
  return result;
}

int64_t decide_power(Builder& builder, const std::string& name, const char* what, int64_t most, int64_t limit,
                     int64_t wanted) {
  const std::vector<int64_t> candidates = powers_up_to(most, limit);
  return builder.decide(name, what, candidates, std::min(wanted, candidates.back()));
}

/// Threads fetch what lies at these loops together.
bool fetch_together(Schedule& schedule, const LoopIds& loops, const ProductPlan& plan) {
  const auto fused = loops.size() == 1 ? Result<LoopId>(loops[0]) : schedule.fuse(loops);
  if (!fused.ok()) return false;
  const auto parts = schedule.split(*fused, Integers{-1, plan.threads_y, plan.threads_x});
  return parts.ok() && tried(schedule.bind((*parts)[1], "thread.y")) && tried(schedule.bind((*parts)[2], "thread.x"));
}

bool lay_out(Builder& builder, const std::string& name, const ProductPlan& plan) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const size_t rank = view.block(name).axes.size();
  std::vector<std::string> operands;
  for (const LoadAccess& access : load_accesses(builder.kernel(), view.block(name)))
    operands.push_back(view.buffer(access.buffer).name);
  const auto sums = schedule.cache_write(name);
  if (!sums.ok()) return false;

  const LoopIds loops = view.loops(name);
  if (loops.size() != rank) return false;
  const auto down = schedule.split(loops[plan.row_axis], Integers{-1, plan.threads_y, plan.rows});
  const auto across = schedule.split(loops[plan.column_axis], Integers{-1, plan.threads_x, plan.columns});
  if (!down.ok() || !across.ok()) return false;
  LoopIds others;
  for (size_t k = 0; k < rank; ++k)
    if (k != plan.row_axis && k != plan.column_axis) others.push_back(loops[k]);
  LoopIds order = others;
  for (const LoopId loop : {(*down)[0], (*across)[0], (*down)[1], (*across)[1], (*down)[2], (*across)[2]})
    order.push_back(loop);
  if (!schedule.reorder(order).ok()) return false;
  if (!others.empty()) {
    const auto fused = others.size() == 1 ? Result<LoopId>(others[0]) : schedule.fuse(others);
    if (!fused.ok() || !tried(schedule.bind(*fused, "block.z"))) return false;
  }
  const LoopId thread = (*across)[1];
  if (!tried(schedule.bind((*down)[0], "block.y")) || !tried(schedule.bind((*across)[0], "block.x")) ||
      !tried(schedule.bind((*down)[1], "thread.y")) || !tried(schedule.bind(thread, "thread.x")))
    return false;
  for (const LoopId loop : {(*down)[2], (*across)[2]}) (void)tried(schedule.unroll(loop));

  if (!tried(schedule.compute_at(*sums, thread)) ||
      !tried(schedule.set_scope(view.buffer(view.block(*sums).writes[0].buffer).name, "registers")))
    return false;
  const LoopIds own = view.inner_loops(*sums, thread);
  const size_t reduces = view.block(*sums).reduce.size();
  if (own.size() != rank + reduces) return false;
  const LoopIds tile(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(rank)),
      reduction(own.begin() + static_cast<std::ptrdiff_t>(rank), own.end());
  // Where the copy reads by what is no sum of its loops, more than the thread's own results are computed.
  if (view.iterations(tile) > plan.rows * plan.columns) return false;
  const auto steps = schedule.split(reduction[plan.reduce_axis], Integers{-1, plan.steps});
  if (!steps.ok()) return false;
  LoopIds inner = *steps;
  for (size_t k = 0; k < reduces; ++k)
    if (k != plan.reduce_axis) inner.push_back(reduction[k]);
  inner.insert(inner.end(), tile.begin(), tile.end());
  if (!schedule.reorder(inner).ok()) return false;
  const auto zeros = schedule.decompose_reduction(*sums, (*steps)[0]);
  if (!zeros.ok()) return false;
  for (const LoopId loop : tile) (void)tried(schedule.unroll(loop));
  for (const LoopId loop : view.inner_loops(*zeros, thread)) (void)tried(schedule.unroll(loop));

  for (const std::string& operand : operands) {
    const auto copy = schedule.cache_read(*sums, operand);
    if (!copy.ok() || !tried(schedule.set_scope(*copy, "shared")) || !tried(schedule.compute_at(*copy, (*steps)[0])) ||
        !fetch_together(schedule, view.inner_loops(*copy, (*steps)[0]), plan))
      return false;
  }
  return bytes_of(schedule, Scope::kShared) <= kSharedBytes && bytes_of(schedule, Scope::kRegister) <= kSumBytes;
}

void schedule_product(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block block = view.block(name);
  auto plan = axes_of(view, block);
  const auto work = points(block);
  if (!plan || !work || *work == 0 || block.reduce.empty()) return;
  const Integers extents = extents_of(block);
  const int64_t down = extents[plan->row_axis], across = extents[plan->column_axis];
  Integers lengths;
  for (const Iterator& iterator : block.reduce) lengths.push_back(te::as_constant(iterator.extent).value_or(0));
  plan->reduce_axis = static_cast<size_t>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
  if (!builder.decide(name, "shared_tiles", lengths[plan->reduce_axis] >= 4 && down >= 4 && across >= 4)) return;
  plan->threads_x = decide_power(builder, name, "threads_x", 32, across, 16);
  plan->threads_y = decide_power(builder, name, "threads_y", 16, down, 16);
  plan->columns = decide_power(builder, name, "columns", 8, (across + plan->threads_x - 1) / plan->threads_x, 4);
  plan->rows = decide_power(builder, name, "rows", 8, (down + plan->threads_y - 1) / plan->threads_y, 4);
  plan->steps = decide_power(builder, name, "steps", 32, lengths[plan->reduce_axis], 16);
  const Schedule before = builder.schedule;
  for (; plan->steps >= 1; plan->steps /= 2) {
    if (lay_out(builder, name, *plan)) return;
    builder.schedule = before;
  }
}

}  // namespace

Module gpu_products() {
  return {"gpu_products", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_product};
}

}  // namespace isomer::kernel
