#include <algorithm>
#include <functional>
#include <numeric>

#include "kernel/mma.h"
#include "kernel/space/gpu_modules.h"
#include "kernel/space/gpu_operands.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// `packed`: a copy of an operand that is made beforehand.
bool lay_out(Builder& builder, const std::string& name, const ProductPlan& plan, const std::string& packed) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const size_t rank = view.block(name).axes.size();
  std::vector<LoadAccess> operands = load_accesses(builder.kernel(), view.block(name));
  const auto sums = sum_apart(builder, name);
  if (!sums.ok()) return false;

  const LoopIds loops = view.loops(name);
  if (loops.size() != rank) return false;
  const auto down = schedule.split(loops[plan.row_axis], Integers{-1, plan.threads_y, plan.rows});
  const auto across = schedule.split(loops[plan.column_axis], Integers{-1, plan.threads_x, plan.columns});
  if (!down.ok() || !across.ok()) return false;
  LoopIds others, images;
  for (size_t k = 0; k < rank; ++k) {
    if (k == plan.row_axis || k == plan.column_axis) continue;
    others.push_back(loops[k]);
    if (plan.images == 1 || k != plan.image_axis) continue;
    const auto parts = schedule.split(loops[k], Integers{-1, plan.images});
    if (!parts.ok()) return false;
    others.back() = (*parts)[0];
    images = {(*parts)[1]};
  }
  LoopIds order = others;
  for (const LoopId loop : {(*down)[0], (*across)[0], (*down)[1], (*across)[1], (*down)[2]}) order.push_back(loop);
  order.insert(order.end(), images.begin(), images.end());
  order.push_back((*across)[2]);
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
  for (const LoopId loop : images) (void)tried(schedule.unroll(loop));

  if (!tried(schedule.compute_at(*sums, thread)) ||
      !tried(schedule.set_scope(view.buffer(view.block(*sums).writes[0].buffer).name, "registers")))
    return false;
  const LoopIds own = view.inner_loops(*sums, thread);
  const size_t reduces = view.block(*sums).reduce.size();
  if (own.size() != rank + reduces) return false;
  LoopIds tile(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(rank)),
      reduction(own.begin() + static_cast<std::ptrdiff_t>(rank), own.end());
  // Where the copy reads by what is no sum of its loops, more than the thread's own results are computed.
  if (view.iterations(tile) > plan.rows * plan.columns * plan.images) return false;
  if (plan.images > 1) {
    const LoopId of_columns = tile[plan.column_axis], of_images = tile[*plan.image_axis];
    std::erase_if(tile, [&](LoopId loop) { return loop == of_columns || loop == of_images; });
    tile.insert(tile.end(), {of_images, of_columns});
  }
  const auto steps =
      schedule.split(reduction[plan.reduce_axis],
                     plan.by_tensor_cores ? Integers{-1, plan.steps / kMmaSteps, kMmaSteps} : Integers{-1, plan.steps});
  if (!steps.ok()) return false;
  // A turn takes some steps at one place of a window, say.
  LoopIds turns = {(*steps)[0]}, inner(steps->begin() + 1, steps->end());
  for (size_t k = 0; k < reduces; ++k)
    if (k != plan.reduce_axis) turns.push_back(reduction[k]);
  inner.insert(inner.end(), tile.begin(), tile.end());
  LoopIds ordered = turns;
  ordered.insert(ordered.end(), inner.begin(), inner.end());
  if (!schedule.reorder(ordered).ok()) return false;
  const auto turn = turns.size() == 1 ? Result<LoopId>(turns[0]) : schedule.fuse(turns);
  if (!turn.ok()) return false;
  if (plan.images > 1) {
    const auto columns = schedule.fuse({tile.end()[-2], tile.end()[-1]});
    if (!columns.ok()) return false;
    tile.pop_back();
    tile.back() = *columns;
  }
  const auto zeros = schedule.decompose_reduction(*sums, *turn);
  if (!zeros.ok()) return false;
  if (plan.by_tensor_cores || plan.rows * plan.columns * plan.steps <= kMostWrittenOut)
    (void)tried(schedule.unroll((*steps)[1]));
  // Rows beyond the last one read that one again, and are not stored.
  if (!plan.by_tensor_cores && plan.rows > 1 && extents_of(view.block(*sums))[plan.row_axis] % plan.rows != 0)
    for (const std::string& block : {*zeros, *sums})
      (void)tried(schedule.pad(block, static_cast<int64_t>(plan.row_axis)));
  for (const LoopId loop : tile) (void)tried(schedule.unroll(loop));
  for (const LoopId loop : view.inner_loops(*zeros, thread)) (void)tried(schedule.unroll(loop));

  for (const LoadAccess& operand : operands) {
    const bool is_across = moves(operand.axes[plan.column_axis]);
    int source = operand.buffer;
    if (plan.by_tensor_cores && view.buffer(source).is_constant) {
      // Laid out beforehand, once.
      const Schedule before = schedule;
      const auto packed = schedule.cache_read(*sums, view.buffer(source).name);
      if (packed.ok() && lay_last(builder, *sums, *packed, te::reduce_axis(static_cast<int>(plan.reduce_axis))))
        source = view.block(*packed).writes[0].buffer;
      else
        schedule = before;
    }
    const auto copy = copy_of(builder, *sums, source, packed);
    if (!copy.ok()) return false;
    const std::string memory = view.buffer(view.block(*copy).writes[0].buffer).name;
    // Side by side: columns of a thread, or steps of a register of tensor cores.
    const Expr last = plan.by_tensor_cores ? te::reduce_axis(static_cast<int>(plan.reduce_axis))
                                           : te::axis(static_cast<int>(plan.column_axis));
    if ((is_across || plan.by_tensor_cores) && !lay_last(builder, *sums, *copy, last)) return false;
    if (!tried(schedule.set_scope(memory, "shared")) || (plan.by_tensor_cores && !tried(schedule.swizzle(memory))) ||
        !tried(schedule.compute_at(*copy, *turn)) || !fetch_together(builder, *copy, *turn, plan))
      return false;
    if (plan.by_tensor_cores)
      (void)lay_for_warps(builder, *sums, *copy,
                          te::axis(static_cast<int>(is_across ? plan.column_axis : plan.row_axis)),
                          is_across ? plan.columns : plan.rows, is_across);
  }
  (void)tried(schedule.annotate(*turn, kAhead, 1));
  if (plan.stages > 1) (void)tried(schedule.annotate(*turn, kStages, plan.stages));
  if (plan.by_tensor_cores) {
    auto t = schedule.tensorize(steps->back(), std::string(kMmaName));
    if (!t.ok()) {
      fprintf(stderr, "TENS %s\n", t.error().message().c_str());
      return false;
    }
  }
  return plan.stages * bytes_of(schedule, Scope::kShared) <= kMostSharedBytes &&
         bytes_of(schedule, Scope::kRegister) <= kSumBytes && check_launches(schedule.finish()).ok();
}

/// What fetching an element of the operand takes.
double operations_of_fetch(const View& view, const Block& block, const LoadAccess& access, const ProductPlan& plan) {
  const auto makers = writers(view.kernel(), access.buffer);
  const bool is_window = makers.size() == 1 && view.is_alone(makers[0]) && is_copy(view.block(makers[0]));
  const bool is_apart = block.reduce.size() > 1;
  if (!plan.by_tensor_cores) return is_window && !is_apart ? kOperationsOfWindow : kOperationsOfFetch;
  if (!is_window)
    return view.buffer(access.buffer).is_constant || access.reduce[plan.reduce_axis] == 1 ? kOperationsOfVector
                                                                                          : kOperationsOfStore;
  // Where steps lie side by side, they do so in what the windows are taken of, too.
  const auto& index = te::as<te::Load>(access.load)->index;
  const auto dim = std::find(index.begin(), index.end(), te::reduce_axis(static_cast<int>(plan.reduce_axis)));
  const std::vector<LoadAccess> read = load_accesses(view.kernel(), view.block(makers[0]));
  if (dim != index.end() && read.size() == 1 && read[0].axes[static_cast<size_t>(dim - index.begin())] == 1)
    return kOperationsOfVector;
  return is_apart ? kOperationsOfChannel : kOperationsOfWindow;
}

/// How many of them a thread may have together.
std::vector<int64_t> images_of(const ProductPlan& plan, const Integers& extents) {
  std::vector<int64_t> all = {1};
  for (int64_t each = 2; plan.image_axis && each <= kMostImages && extents[*plan.image_axis] % each == 0; each *= 2)
    all.push_back(each);
  return all;
}

void schedule_product(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block block = view.block(name);
  auto plan = axes_of(view, block);
  const auto work = points(block);
  if (!plan || !work || *work == 0 || block.reduce.empty()) return;
  const Integers extents = extents_of(block);
  const int64_t rows = extents[plan->row_axis], columns = extents[plan->column_axis];
  Integers lengths;
  for (const Iterator& iterator : block.reduce) lengths.push_back(te::as_constant(iterator.extent).value_or(0));
  plan->reduce_axis = static_cast<size_t>(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
  const int64_t length = lengths[plan->reduce_axis];
  if (!builder.decide(name, "shared_tiles", length >= 4 && rows >= 4 && columns >= 4)) return;
  plan->by_tensor_cores = is_product_of_halves(block.bodies[0]) &&
                          builder.decide(name, "tensor_cores", length % kMmaSteps == 0 && columns >= 16 && rows >= 16);
  const int64_t steps = std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>());
  ProductSize size{*work / (rows * columns * steps), rows, columns, length, steps / length};
  for (const LoadAccess& access : load_accesses(builder.kernel(), block)) {
    const double operations = operations_of_fetch(view, block, access, *plan);
    if (moves(access.axes[plan->column_axis])) {
      size.operations_of_column = operations;
    } else if (plan->by_tensor_cores) {
      size.operations_of_row = operations;
    }
  }
  if (plan->image_axis) size.most_images = std::min<int64_t>(extents[*plan->image_axis], kMostImages);
  const Schedule before = builder.schedule;
  ProductPlan wanted = cheapest(*plan, size);
  std::string packed;  // a copy of an operand in which steps lie side by side
  if (plan->by_tensor_cores && size.operations_of_column == kOperationsOfStore) {
    ProductSize beside = size;
    beside.operations_of_column = kOperationsOfVector;
    const ProductPlan other = cheapest(*plan, beside);
    const int64_t bytes = 2 * 2 * size.others * columns * steps;  // read and written
    if (builder.decide(name, "steps_last", other.cycles + cycles_of_launch(bytes) < wanted.cycles)) {
      for (const LoadAccess& access : load_accesses(builder.kernel(), block))
        if (packed.empty() && moves(access.axes[plan->column_axis]))
          packed = read_laid_last(builder, name, access, te::reduce_axis(static_cast<int>(plan->reduce_axis)));
      if (!packed.empty()) wanted = other;
    }
  }
  const auto decide = [&](const std::string& of, const char* what, std::vector<int64_t> candidates, int64_t preferred) {
    if (std::find(candidates.begin(), candidates.end(), preferred) == candidates.end()) candidates.push_back(preferred);
    std::sort(candidates.begin(), candidates.end());
    return builder.decide(of, what, candidates, preferred);
  };
  if (plan->by_tensor_cores) {
    plan->threads_x = kMmaWide;
    plan->threads_y = decide(name, "threads_y", {8, 16, 32, 64}, wanted.threads_y);
    plan->columns = decide(name, "columns", {2, 4, 8, 16, 32}, wanted.columns);
    plan->rows = decide(name, "rows", {2, 4, 8}, wanted.rows);
    plan->images = decide(name, "images", images_of(*plan, extents), wanted.images);
    plan->parts = decide(name, "parts", divisors(length / kMmaSteps, 32), wanted.parts);
    const int64_t most = length / plan->parts % (2 * kMmaSteps) == 0 ? 2 * kMmaSteps : kMmaSteps;
    plan->steps = builder.decide(name, "steps", divisors(most / kMmaSteps, 2), most / kMmaSteps) * kMmaSteps;
    plan->stages = builder.decide(name, "stages", {1, 2, 3, 4, 5}, most_stages(*plan));
  } else {
    plan->threads_x = decide(name, "threads_x", {4, 8, 16, 32}, wanted.threads_x);
    plan->threads_y = decide(name, "threads_y", {4, 8, 16}, wanted.threads_y);
    plan->columns = decide(name, "columns", {1, 2, 4, 8}, wanted.columns);
    plan->rows = decide(name, "rows", {1, 2, 4, 8}, wanted.rows);
    plan->parts = decide(name, "parts", divisors(length, 32), wanted.parts);
    plan->steps = decide(name, "steps", divisors(length / plan->parts, 32), wanted.steps);
  }
  const Schedule whole = builder.schedule;
  std::string product = name;
  if (plan->parts > 1) {
    const LoopIds loops = view.loops(name);
    const auto partial = builder.schedule.split_k(name, loops[block.axes.size() + plan->reduce_axis], plan->parts);
    const auto axes = partial.ok() ? axes_of(view, view.block(*partial)) : std::nullopt;
    if (axes) {
      product = *partial;
      plan->row_axis = axes->row_axis;
      plan->column_axis = axes->column_axis;
      plan->image_axis = axes->image_axis;
    } else {
      builder.schedule = whole;
    }
  }
  const Schedule parted = builder.schedule;
  // What does not fit is tried with one stage, without tensor cores, with fewer steps.
  while (plan->steps >= 1) {
    if (lay_out(builder, product, *plan, packed)) return;
    builder.schedule = parted;
    if (plan->stages * plan->images > 1) {
      plan->stages = plan->images = 1;
    } else {
      plan->by_tensor_cores = false;
      plan->steps /= 2;
    }
  }
  builder.schedule = before;
}

}  // namespace

Module gpu_products() {
  return {"gpu_products", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_product};
}

}  // namespace isomer::kernel
