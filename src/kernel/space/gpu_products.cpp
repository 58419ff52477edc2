#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "kernel/mma.h"
#include "kernel/space/gpu_modules.h"
#include "kernel/space/gpu_product_plan.h"
#include "kernel/tree.h"
#include "util/stable_sort.h"

namespace isomer::kernel {
namespace {

/// Elements that a thread fetches at once, each with a load of its own on the way.
constexpr int64_t kMostFetched = 16;
/// Along an axis that only one operand has.
constexpr int64_t kMostImages = 8;
/// Steps of a row that a thread stores at once, where it has fetched them one by one.
constexpr int64_t kStepsOfVector = 8;

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
      const LoadAccess& of_rows = moves(operands[0].axes[row]) ? operands[0] : operands[1];
      for (size_t other = 0; other < extents.size(); ++other)
        if (other != row && other != column && extents[other] > 1 && !moves(of_rows.axes[other]))
          best->image_axis = other;
      best_stride = stride;
      best_rows = extents[row];
    }
  return best;
}

/// Whether each dim of what is read is one iterator of the block.
bool is_plain(const LoadAccess& access) {
  const auto& index = te::as<te::Load>(access.load)->index;
  return std::all_of(index.begin(), index.end(), [](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    return te::as_constant(e) || (variable && variable->kind != te::VarKind::kLoop);
  });
}

/// Moves what it reads: element by element, with a padding perhaps.
bool is_copy(const Block& block) {
  if (block.is_reduction() || block.bodies.size() != 1 || block.predicate) return false;
  const auto* select = te::as<te::Select>(block.bodies[0]);
  return te::as<te::Load>(select ? select->then : block.bodies[0]) != nullptr &&
         (!select || te::as<te::Literal>(select->otherwise));
}

/// The block that copies the operand into the memory of a block of threads: the one that makes it, where it only moves
/// elements and nobody else reads them, or a new one.
Result<std::string> copy_of(Builder& builder, const std::string& sums, int operand, const std::string& packed) {
  const View& view = builder.view;
  const std::vector<std::string> makers = writers(builder.kernel(), operand);
  if (makers.size() == 1 && makers[0] != packed && view.is_alone(makers[0]) && !view.is_known(makers[0]) &&
      is_copy(view.block(makers[0])) && readers(builder.kernel(), operand).size() == 1 &&
      !is_output(builder.kernel(), operand))
    return makers[0];
  return builder.schedule.cache_read(sums, view.buffer(operand).name);
}

/// What a sum reads of the copy along an iterator lies side by side.
bool lay_last(Builder& builder, const std::string& sums, const std::string& copy, const Expr& iterator) {
  const int memory = builder.view.block(copy).writes[0].buffer;
  for (const LoadAccess& access : load_accesses(builder.kernel(), builder.view.block(sums))) {
    if (access.buffer != memory) continue;
    const auto& index = te::as<te::Load>(access.load)->index;
    const auto last = std::find_if(index.begin(), index.end(), [&](const Expr& e) {
      return te::any_node(e, [&](const Expr& part) { return part == iterator; });
    });
    if (last == index.end() || last + 1 == index.end()) return true;
    std::vector<std::ptrdiff_t> order;
    for (auto each = index.begin(); each != index.end(); ++each)
      if (each != last) order.push_back(each - index.begin());
    order.push_back(last - index.begin());
    return tried(
        builder.schedule.transform_layout(builder.view.buffer(memory).name, fmt::format("{}", fmt::join(order, ":"))));
  }
  return true;
}

/// The rows of an operand that a warp reads at once (mma.h) follow each other in the copy: of `of_thread` rows the
/// first ones of all threads, then the second ones. Of columns it reads two of each thread.
bool lay_for_warps(Builder& builder, const std::string& sums, const std::string& copy, const Expr& iterator,
                   int64_t of_thread, bool is_across) {
  constexpr int64_t kColumns = 2;
  const int memory = builder.view.block(copy).writes[0].buffer;
  if (is_across && of_thread == kColumns) return true;
  for (const LoadAccess& access : load_accesses(builder.kernel(), builder.view.block(sums))) {
    if (access.buffer != memory) continue;
    const auto& index = te::as<te::Load>(access.load)->index;
    const auto found = std::find(index.begin(), index.end(), iterator);
    if (found == index.end()) return false;
    const auto dim = found - index.begin();
    // Instead of `count` dims from there on.
    const auto lay = [&](std::ptrdiff_t count, const std::vector<std::string>& parts) {
      std::vector<std::string> terms;
      const auto rank = static_cast<std::ptrdiff_t>(builder.view.buffer(memory).shape.size());
      for (std::ptrdiff_t k = 0; k < rank; ++k) {
        if (k == dim) terms.insert(terms.end(), parts.begin(), parts.end());
        if (k < dim || k >= dim + count) terms.push_back(fmt::format("{}", k));
      }
      return tried(builder.schedule.transform_layout(builder.view.buffer(memory).name,
                                                     fmt::format("{}", fmt::join(terms, ":"))));
    };
    if (!is_across) return lay(1, {fmt::format("{}%{}", dim, of_thread), fmt::format("{}/{}", dim, of_thread)});
    return lay(1, {fmt::format("{}/{}", dim, of_thread), fmt::format("{}%{}", dim, of_thread)}) &&
           lay(2, {fmt::format("{}/{}", dim + 1, kColumns), fmt::format("{}", dim),
                   fmt::format("{}%{}", dim + 1, kColumns)});
  }
  return false;
}

/// The axis that a loop of the block runs over; their number: none.
size_t axis_over(const Block& block, LoopId loop) {
  return static_cast<size_t>(
      std::find_if(block.axes.begin(), block.axes.end(),
                   [&](const Iterator& iterator) { return variables(iterator.binding).contains(loop.variable); }) -
      block.axes.begin());
}

/// How many elements side by side a thread copies at once, of `each` that it has: as many as 16 bytes hold where they
/// lie so in the source and in the copy, and begin at multiples of that.
int64_t elements_of_vector(const View& view, const std::string& copy, LoopId innermost, int64_t each) {
  const Block& block = view.block(copy);
  const size_t axis = axis_over(block, innermost);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), block);
  if (axis == block.axes.size() || accesses.size() != 1 || accesses[0].axes[axis] != 1 ||
      block.writes[0].index.back() != te::axis(static_cast<int>(axis)))
    return 1;
  const Buffer& source = view.buffer(accesses[0].buffer);
  int64_t vector = 16 * 8 / bit_width(source.dtype);
  const auto fits = [&](int64_t stride) { return stride % vector == 0; };
  // Whatever decides other dims, they begin at multiples of the last one.
  if (te::as<te::Load>(accesses[0].load)->index.back() == te::axis(static_cast<int>(axis)) &&
      fits(source.shape.back().constant().value_or(1)) && fits(view.extent(innermost)) && each >= vector)
    return vector;
  while (vector > 1 &&
         (!fits(view.extent(innermost)) || each < vector ||
          !std::ranges::all_of(
              accesses[0].axes, [&](const auto& stride) { return stride && (*stride == 1 || fits(*stride)); })))
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

/// Splits the loop over what lies side by side in the copy, but not in the source, so that a thread has elements that
/// it can store at once, and makes the others powers of two long: the inner loop; nothing: there is none.
std::optional<LoopId> split_for_stores(Builder& builder, const std::string& copy, LoopIds& loops, int64_t threads) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const auto lies_along = [&](LoopId loop) {
    const Block& block = view.block(copy);
    const size_t axis = axis_over(block, loop);
    return axis < block.axes.size() && block.writes[0].index.back() == te::axis(static_cast<int>(axis));
  };
  const auto along = std::find_if(loops.begin(), loops.end(), lies_along);
  if (along == loops.end()) return std::nullopt;
  const Schedule before = schedule;
  const LoopIds old = loops;
  int64_t places = 1;
  LoopIds single;  // iterations
  for (LoopId& loop : loops) {
    const auto length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(view.extent(loop))));
    if (loop == *along) continue;
    places *= length;
    if (length == view.extent(loop)) continue;
    const auto parts = schedule.split(loop, Integers{-1, length});
    if (!parts.ok()) {
      schedule = before;
      loops = old;
      return std::nullopt;
    }
    single.push_back((*parts)[0]);
    loop = (*parts)[1];
  }
  const int64_t steps = view.extent(*along);
  const auto elements_of_thread = [&](int64_t length) {
    return (places * (steps / length) + threads - 1) / threads * length;
  };
  int64_t best = 1;
  for (int64_t length = 2; length <= kStepsOfVector && steps % length == 0; length *= 2)
    if (elements_of_thread(length) <= elements_of_thread(best)) best = length;
  const auto parts = schedule.split(*along, Integers{-1, best});
  if (!parts.ok()) {
    schedule = before;
    loops = old;
    return std::nullopt;
  }
  *along = (*parts)[0];
  loops.insert(loops.begin(), single.begin(), single.end());
  return (*parts)[1];
}

/// Threads fetch together what the block copies at the loop. Neighbours take what lies side by side in the source or,
/// where that is unknown (windows), places rather than steps.
bool fetch_together(Builder& builder, const std::string& copy, LoopId at, const ProductPlan& plan) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const LoopIds nested = view.inner_loops(copy, at);
  LoopIds loops = nested;
  const int64_t each = view.iterations(loops) / plan.threads();
  const Block block = view.block(copy);
  const std::vector<LoadAccess> accesses = load_accesses(builder.kernel(), block);
  // Where it stays goes outermost, then from the longest to the shortest stride.
  const auto rank_of = [&](LoopId loop) {
    const size_t axis = axis_over(block, loop);
    const auto stride = axis == block.axes.size() ? std::optional<int64_t>(0) : accesses[0].axes[axis];
    if (stride == 0) return INT64_MIN;
    return stride ? -std::abs(*stride) : -2 - static_cast<int64_t>(axis);
  };
  if (accesses.size() == 1) stable_sort(loops, [&](LoopId a, LoopId b) { return rank_of(a) < rank_of(b); });
  int64_t vector = elements_of_vector(view, copy, loops.back(), each);
  std::optional<LoopId> inner;
  if (vector == 1 && plan.by_tensor_cores) inner = split_for_stores(builder, copy, loops, plan.threads());
  LoopIds order = loops;
  if (inner) order.push_back(*inner);
  if ((inner || loops != nested) && !schedule.reorder(order).ok()) return false;
  const auto fused = loops.size() == 1 ? Result<LoopId>(loops[0]) : schedule.fuse(loops);
  if (!fused.ok()) return false;
  const auto parts = schedule.split(*fused, Integers{-1, plan.threads_y, plan.threads_x, vector});
  if (!parts.ok() || !tried(schedule.bind((*parts)[1], "thread.y")) || !tried(schedule.bind((*parts)[2], "thread.x")))
    return false;
  (void)tried(schedule.unroll((*parts)[3]));
  if (inner) (void)tried(schedule.unroll(*inner));
  if (view.extent((*parts)[0]) <= kMostFetched) (void)tried(schedule.unroll((*parts)[0]));
  return true;
}

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
    if (!tried(schedule.set_scope(memory, "shared")) ||
        (plan.by_tensor_cores && !tried(schedule.storage_align(memory, kGapOfTensorCores))) ||
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

/// Lets the columns' operand be read of a copy in which the steps of a column lie side by side: its name; empty: it
/// can't be.
std::string lay_steps_last(Builder& builder, const std::string& name, const ProductPlan& plan) {
  const View& view = builder.view;
  for (const LoadAccess& access : load_accesses(builder.kernel(), view.block(name))) {
    if (!moves(access.axes[plan.column_axis])) continue;
    const Schedule before = builder.schedule;
    const auto copy = builder.schedule.cache_read(name, view.buffer(access.buffer).name, view.ordinal(name, access));
    if (copy.ok() && lay_last(builder, name, *copy, te::reduce_axis(static_cast<int>(plan.reduce_axis)))) return *copy;
    builder.schedule = before;
  }
  return {};
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
    const bool is_across = moves(access.axes[plan->column_axis]);
    (is_across ? size.operations_of_column : size.operations_of_row) = operations_of_fetch(view, block, access, *plan);
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
      packed = lay_steps_last(builder, name, *plan);
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
  for (; plan->steps >= 1; plan->steps /= 2) {
    if (lay_out(builder, product, *plan, packed)) return;
    builder.schedule = parted;
    if (plan->by_tensor_cores && plan->stages * plan->images > 1) {
      plan->steps *= 2;  // the same once more
    } else {
      plan->by_tensor_cores = false;
    }
    plan->stages = plan->images = 1;
  }
  builder.schedule = before;
}

/// What a block reads by more than its iterators.
std::optional<LoadAccess> window_of(const View& view, const std::string& name) {
  for (LoadAccess& access : load_accesses(view.kernel(), view.block(name)))
    if (!is_plain(access)) return std::move(access);
  return std::nullopt;
}

/// Whether the first reduction is over channels that tensor cores may take step by step, at each place of a window.
bool has_channels(const View& view, const Block& block) {
  const auto loaded = loads(block);
  return block.reduce.size() > 1 && te::as_constant(block.reduce[0].extent).value_or(1) % kMmaSteps == 0 &&
         std::ranges::all_of(loaded, [&](int b) { return bit_width(view.buffer(b).dtype) == 16; });
}

/// Whether taking the windows of a copy in which the channels of a place lie side by side saves more than it costs.
bool is_channels_last_worth_it(const View& view, const Block& block, const LoadAccess& window) {
  ProductSize size;
  const Integers extents = extents_of(block);
  const auto& index = te::as<te::Load>(window.load)->index;
  for (size_t k = 0; k < extents.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    const bool is_image = std::find(index.begin(), index.end(), axis) != index.end();
    (is_image ? size.others : moves(window.axes[k]) ? size.columns : size.rows) *= extents[k];
  }
  for (size_t k = 0; k < block.reduce.size(); ++k)
    (k == 0 ? size.length : size.places) *= te::as_constant(block.reduce[k].extent).value_or(1);
  size.most_images = std::min(size.others, kMostImages);
  size.operations_of_row = kOperationsOfVector;
  ProductPlan plan;
  plan.by_tensor_cores = true;
  size.operations_of_column = kOperationsOfChannel;
  const double apart = cheapest(plan, size).cycles;
  size.operations_of_column = kOperationsOfVector;
  const int64_t bytes = 2 * 2 * element_count(view.buffer(window.buffer).shape).constant().value_or(0);
  return cheapest(plan, size).cycles + cycles_of_launch(bytes) < apart;
}

/// Lets the windows be taken of such a copy.
void lay_channels_last(Builder& builder, const std::string& name, const LoadAccess& window) {
  const View& view = builder.view;
  const Schedule before = builder.schedule;
  const auto copy = builder.schedule.cache_read(name, view.buffer(window.buffer).name, view.ordinal(name, window));
  if (!copy.ok() || !lay_last(builder, name, *copy, te::reduce_axis(0))) builder.schedule = before;
}

void take_windows(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  auto window = window_of(view, name);
  if (!window || !axes_of(view, view.block(name)) || !builder.decide(name, "windows", true)) return;
  const Schedule before = builder.schedule;
  const Block& block = view.block(name);
  // Finding a place is done once for all its channels.
  const bool are_apart = has_channels(view, block) && builder.decide(name, "channels_apart", true);
  if (are_apart && builder.decide(name, "channels_last", is_channels_last_worth_it(view, block, *window)))
    lay_channels_last(builder, name, *window);
  window = window_of(view, name);
  if (!window) return;
  const auto copy = builder.schedule.reindex(name, view.buffer(window->buffer).name, view.ordinal(name, *window));
  if (!copy.ok() || !tried(builder.schedule.flatten(*copy, are_apart ? 0 : -1))) builder.schedule = before;
}

}  // namespace

Module gpu_windows() {
  return {"gpu_windows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          take_windows};
}

Module gpu_products() {
  return {"gpu_products", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_product};
}

}  // namespace isomer::kernel
