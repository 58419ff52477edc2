#include "kernel/space/gpu_operands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "kernel/space/gpu_modules.h"
#include "kernel/tree.h"
#include "util/stable_sort.h"

namespace isomer::kernel {
namespace {

/// Elements that a thread fetches at once, each with a load of its own on the way.
constexpr int64_t kMostFetched = 16;
/// Of steps of a row that a thread stores at once, where it has fetched them one by one.
constexpr int64_t kBytesOfVector = 16;

/// The axis that a loop of the block runs over; their number: none.
size_t axis_over(const Block& block, LoopId loop) {
  return static_cast<size_t>(
      std::find_if(block.axes.begin(), block.axes.end(),
                   [&](const Iterator& iterator) { return depends_on(iterator.binding, loop.variable); }) -
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
  int64_t vector = kBytesOfVector * 8 / bit_width(source.dtype);
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
  const int64_t most = kBytesOfVector * 8 / bit_width(view.buffer(view.block(copy).writes[0].buffer).dtype);
  for (int64_t length = 2; length <= most && steps % length == 0; length *= 2)
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

}  // namespace

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

bool is_copy(const Block& block) {
  if (block.is_reduction() || block.bodies.size() != 1 || block.predicate) return false;
  const auto* select = te::as<te::Select>(block.bodies[0]);
  return te::as<te::Load>(select ? select->then : block.bodies[0]) != nullptr &&
         (!select || te::as<te::Literal>(select->otherwise));
}

Result<std::string> copy_of(Builder& builder, const std::string& sums, int operand, const std::string& packed) {
  const View& view = builder.view;
  const std::vector<std::string> makers = writers(builder.kernel(), operand);
  if (makers.size() == 1 && makers[0] != packed && view.is_alone(makers[0]) && !view.is_known(makers[0]) &&
      is_copy(view.block(makers[0])) && readers(builder.kernel(), operand).size() == 1 &&
      !is_output(builder.kernel(), operand))
    return makers[0];
  return builder.schedule.cache_read(sums, view.buffer(operand).name);
}

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

std::string read_laid_last(Builder& builder, const std::string& name, const LoadAccess& access, const Expr& iterator) {
  const View& view = builder.view;
  const Schedule before = builder.schedule;
  const auto copy = builder.schedule.cache_read(name, view.buffer(access.buffer).name, view.ordinal(name, access));
  if (copy.ok() && lay_last(builder, name, *copy, iterator)) return *copy;
  builder.schedule = before;
  return {};
}

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
  if (vector == 1 && plan.mma) inner = split_for_stores(builder, copy, loops, plan.threads());
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

}  // namespace isomer::kernel
