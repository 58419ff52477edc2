#include <algorithm>
#include <numeric>

#include "kernel/default_scheduler.h"
#include "kernel/padding.h"

namespace isomer::kernel {
namespace {

/// Loops shorter than this many element operations are not worth a fork and join.
constexpr int64_t kParallelWork = 16'384;
/// A map of at most so many operations (intrinsics count more) is computed again by each of its readers rather than
/// stored.
constexpr int kCheap = 2;
/// Blocks (tiles) of a transposition that lie one after the other in its source.
constexpr int64_t kBlocksOfRun = 16;
constexpr int64_t kTilesOfRun = 32;
/// Parts of a map that are joined along an axis: iterations of one, how many.
constexpr int64_t kShortestPart = 8;
constexpr size_t kMostParts = 64;
/// Rows from which on their padding is written apart.
constexpr int64_t kLongPadded = 64;
/// Of four bytes, in a line of cache.
constexpr int64_t kLineElements = 16;
/// Bytes of results that no cache keeps until they are read.
constexpr int64_t kBeyondCaches = 64 << 20;
/// Of a map, computed at a time.
constexpr int64_t kMostVectors = 4;

bool holds_select(const Expr& expr) {
  return te::any_node(expr, [](const Expr& e) { return te::as<te::Select>(e) != nullptr; });
}

}  // namespace

void Scheduler::inline_maps() {
  for (const std::string& name : schedule_.blocks()) {
    const Block candidate = block(name);
    if (moves_reduction(candidate) && tried(schedule_.reverse_compute_inline(name))) continue;
    if (candidate.is_reduction() || candidate.writes.size() != 1 || candidate.bodies.size() != 1) continue;
    const int buffer = candidate.writes[0].buffer;
    const std::vector<std::string> users = readers(kernel(), buffer);
    if (users.empty() || is_output(kernel(), buffer)) continue;
    const auto made = points(candidate);
    bool worth = count_operations(candidate.bodies[0]) <= kCheap;
    if (!worth && users.size() == 1 && made) {
      const Block user = block(users[0]);
      const auto read = points(user);
      worth = read && *read * loads_of(user, buffer) <= *made;
    }
    // A select in the innermost loop of a reduction, or for each element of a sum, costs more than the copy that it
    // saves.
    const bool selects = holds_select(candidate.bodies[0]);
    for (const std::string& user : users)
      worth &= !selects || (!block(user).is_reduction() && loads_of(block(user), buffer) == 1);
    if (worth) (void)tried(schedule_.compute_inline(name));
  }
}

int64_t Scheduler::loads_of(const Block& reader, int buffer) const {
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), reader);
  return std::count_if(accesses.begin(), accesses.end(),
                       [&](const LoadAccess& access) { return access.buffer == buffer; });
}

bool Scheduler::moves_reduction(const Block& map) const {
  const auto* load = map.is_reduction() || map.bodies.size() != 1 ? nullptr : te::as<te::Load>(map.bodies[0]);
  if (!load) return false;
  const auto makers = writers(kernel(), load->buffer.index);
  return makers.size() == 1 && block(makers[0]).is_reduction();
}

bool Scheduler::is_flat(const Block& block) const {
  const Strides out = write_strides(kernel(), block);
  for (const LoadAccess& access : load_accesses(kernel(), block)) {
    const bool fixed =
        std::all_of(access.axes.begin(), access.axes.end(), [](const auto& stride) { return stride == 0; });
    if (!fixed && access.axes != out) return false;
  }
  return true;
}

int Scheduler::contiguous_axis(const Block& map) const {
  const Strides out = write_strides(kernel(), map);
  const auto found = std::find(out.begin(), out.end(), 1);
  return found == out.end() ? -1 : static_cast<int>(found - out.begin());
}

bool Scheduler::runs_along(const Block& map) const {
  const int innermost = contiguous_axis(map);
  if (innermost < 0) return false;
  for (const LoadAccess& access : load_accesses(kernel(), map))
    if (access.axes[innermost] != 0 && access.axes[innermost] != 1) return false;
  return true;
}

std::vector<int64_t> Scheduler::parts_of(const Block& map, int axis) const {
  std::set<int64_t> starts;
  const int64_t end = te::as_constant(map.axes[axis].extent).value_or(0);
  // Padding of a copy stays: whoever reads it may skip it.
  const bool parts_padding =
      is_output(kernel(), map.writes[0].buffer) && axis == contiguous_axis(map) && end >= kLongPadded;
  te::for_each_node(map.bodies[0], [&](const Expr& e) {
    const auto* select = te::as<te::Select>(e);
    if (!select || (loads(select->otherwise).empty() && !parts_padding)) return;
    const te::Interval holds = bounded_axes(select->condition, map.axes.size())[axis];
    if (holds.low && *holds.low > 0 && *holds.low < end) starts.insert(*holds.low);
    if (holds.high && *holds.high >= 0 && *holds.high + 1 < end) starts.insert(*holds.high + 1);
  });
  const int64_t shortest = parts_padding ? 1 : kShortestPart;
  std::vector<int64_t> parts;
  int64_t from = 0;
  for (const int64_t start : starts) {
    if (start - from < shortest) return {};
    parts.push_back(start - from);
    from = start;
  }
  return end - from < shortest || parts.size() >= kMostParts ? std::vector<int64_t>() : parts;
}

bool Scheduler::partition(const std::string& name, LoopIds loops, int64_t work) {
  const Block map = block(name);
  if (map.predicate || map.bodies.size() != 1) return false;
  for (int axis = 0; axis < static_cast<int>(map.axes.size()); ++axis) {
    const std::vector<int64_t> parts = parts_of(map, axis);
    const auto loop = std::find_if(loops.begin(), loops.end(),
                                   [&](LoopId id) { return map.axes[axis].binding == loop_variable(id.variable); });
    if (parts.empty() || loop == loops.end()) continue;
    const bool is_innermost = loop + 1 == loops.end();
    LoopId rest = *loop;
    if (!is_innermost) {
      std::rotate(loops.begin(), loop, loop + 1);
      if (!tried(schedule_.reorder(loops))) return false;
    }
    const std::vector<std::string> before = schedule_.blocks();
    for (const int64_t part : parts) rest = *schedule_.partition(rest, part);
    std::vector<std::string> made = made_since(before);
    made.insert(made.begin(), name);
    for (const std::string& part : made) {
      if (is_innermost) {
        vectorize(schedule_.loops(part)->back(), block(part));
      } else {
        schedule_map(part);
      }
    }
    if (is_innermost) parallelize({loops.begin(), loops.end() - 1}, work);
    return true;
  }
  return false;
}

std::vector<std::string> Scheduler::made_since(const std::vector<std::string>& before) const {
  std::vector<std::string> made = schedule_.blocks();
  std::erase_if(made,
                [&](const std::string& name) { return std::find(before.begin(), before.end(), name) != before.end(); });
  return made;
}

int Scheduler::transposed_axis(const Block& map) const {
  const Strides out = write_strides(kernel(), map);
  const int innermost = contiguous_axis(map);
  int along = -1;
  for (const LoadAccess& access : load_accesses(kernel(), map))
    for (size_t k = 0; k < map.axes.size() && innermost >= 0 && access.axes[innermost] != 0; ++k)
      if (access.axes[k] == 1 && out[k] && *out[k] > 1 && te::as_constant(map.axes[k].extent).value_or(0) >= 8)
        along = static_cast<int>(k);
  return along;
}

bool Scheduler::transpose(const std::string& name, LoopIds loops, size_t place, int64_t work) {
  const Block map = block(name);
  const int64_t width = lanes(map);
  if (map.predicate || holds_select(map.bodies[0]) || width < 4 || width > 16 || extent(loops[place]) < width ||
      extent(loops.back()) < width)
    return false;
  const Schedule before = schedule_;
  const int64_t tall = extent(loops[place]) % width, broad = extent(loops.back()) % width;
  LoopIds down = *schedule_.split(loops[place], Integers{-1, width}),
          across = *schedule_.split(loops.back(), Integers{-1, width});
  loops.pop_back();
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(place));
  if (tall != 0) {
    LoopIds order = loops;
    order.insert(order.begin(), down[0]);
    order.insert(order.end(), {across[0], down[1], across[1]});
    if (!tried(schedule_.reorder(order)) || !tried(schedule_.peel(down[0], "last"))) {
      schedule_ = before;
      return false;
    }
  }
  // Runs of tiles along the source: it is fetched ahead only where lines follow each other. Whole lines are written.
  int64_t run = std::min(kTilesOfRun, extent(down[0]));
  while (extent(down[0]) % run != 0) --run;
  const LoopIds runs = *schedule_.split(down[0], Integers{-1, run});
  LoopIds order = loops;
  order.push_back(runs[0]);
  LoopIds lines = {across[0]};
  if (broad == 0 && width < kLineElements && extent(across[0]) % (kLineElements / width) == 0)
    lines = *schedule_.split(across[0], Integers{-1, kLineElements / width});
  order.insert(order.end(), {lines[0], runs[1]});
  if (lines.size() > 1) order.push_back(lines[1]);
  order.insert(order.end(), {down[1], across[1]});
  if (!tried(schedule_.reorder(order)) || !tried(schedule_.vectorize(across[1])) ||
      !tried(schedule_.vectorize(down[1]))) {
    schedule_ = before;
    return false;
  }
  if (broad != 0 && extent(lines[0]) > 1) (void)tried(schedule_.peel(lines[0], "last"));
  LoopIds outer = loops;
  outer.push_back(runs[0]);
  if (broad == 0) outer.push_back(lines[0]);
  parallelize(outer, work);
  for (const std::string& tail : made_since(before.blocks()))
    if (alone(tail)) schedule_map(tail);
  return true;
}

void Scheduler::block_transposition(LoopIds& loops, size_t place) {
  int64_t step = std::min<int64_t>(16, extent(loops[place]));
  while (step > 4 && extent(loops[place]) % step != 0) --step;
  if (extent(loops[place]) % step != 0) step = 16;
  const auto down = schedule_.split(
      loops[place], Integers{-1, std::min<int64_t>(kBlocksOfRun, (extent(loops[place]) + step - 1) / step), step});
  const auto across = schedule_.split(loops.back(), Integers{-1, std::min<int64_t>(16, extent(loops.back()))});
  if (!down.ok() || !across.ok()) return;
  LoopIds order = loops;
  order.pop_back();
  order[place] = (*down)[0];
  order.insert(order.end(), {(*across)[0], (*down)[1], (*down)[2], (*across)[1]});
  if (schedule_.reorder(order).ok()) loops = order;
}

LoopIds Scheduler::in_memory_order(const std::string& name) {
  LoopIds loops = *schedule_.loops(name);
  const Strides out = write_strides(kernel(), block(name));
  if (loops.size() != out.size() || std::any_of(out.begin(), out.end(), [](const auto& stride) { return !stride; }))
    return loops;
  std::vector<size_t> order(loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(-*out[a], a) < std::pair(-*out[b], b); });
  LoopIds sorted;
  for (const size_t k : order) sorted.push_back(loops[k]);
  if (sorted != loops && tried(schedule_.reorder(sorted))) loops = sorted;
  return loops;
}

void Scheduler::schedule_map(const std::string& name) {
  const Block map = block(name);
  const auto work = points(map);
  if (!work || *work == 0) return;
  const size_t rows = row_axes(map);
  if (rows > 0) return schedule_row_group(name, rows, *work);
  LoopIds loops = in_memory_order(name);
  // The copy of a single element, say.
  if (loops.empty()) return;
  if (partition(name, loops, *work)) return;
  if (loops.size() > 1 && is_flat(map)) loops = {*schedule_.fuse(loops)};
  if (const int along = loops.size() > 1 ? transposed_axis(map) : -1; along >= 0) {
    const auto at = std::find_if(loops.begin(), loops.end() - 1,
                                 [&](LoopId loop) { return map.axes[along].binding == loop_variable(loop.variable); });
    const auto place = static_cast<size_t>(at - loops.begin());
    if (place + 1 < loops.size()) {
      if (transpose(name, loops, place, *work)) return;
      block_transposition(loops, place);
    }
  }
  vectorize(loops.back(), map);
  loops = *schedule_.loops(name);
  parallelize({loops.begin(), loops.end() - 1}, *work);
}

void Scheduler::vectorize(LoopId loop, const Block& map) {
  const int64_t count = extent(loop), widest = lanes(map);
  if (count < 2) return;
  int64_t width = widest;
  while (count < 8 * widest && width > 4 && count % width != 0) width /= 2;
  if (count % width != 0) width = std::min<int64_t>(widest, std::bit_ceil(static_cast<uint64_t>(count)));
  // Several vectors at a time hide each other's latency.
  if (runs_along(map))
    for (int64_t vectors = kMostVectors; vectors > 1 && width == widest; vectors /= 2)
      if (count % (vectors * width) == 0) width *= vectors;
  const auto parts = schedule_.split(loop, Integers{-1, width});
  if (!parts.ok() || !tried(schedule_.vectorize((*parts)[1]))) return;
  const Buffer& written = kernel().buffers[map.writes[0].buffer];
  if (!map.is_reduction() &&
      element_count(written.shape).constant().value_or(0) * bit_width(written.dtype) / 8 >= kBeyondCaches)
    (void)tried(schedule_.annotate((*parts)[1], kStream, 1));
  if (count % width != 0) (void)tried(schedule_.peel((*parts)[0], "last"));
}

void Scheduler::share_step(const std::string& name) {
  const Block step = block(name);
  const auto count = points(step);
  if (!count || step.bodies.size() != 1) return;
  Kernel copy = kernel();
  LoopIds outer;
  for (const Loop* loop : find_block(copy, name)->loops()) {
    if (loop->ordered) continue;
    if (loop->kind != LoopKind::kSerial || reads_any(step.reduce, loop->variable)) break;
    outer.push_back({loop->variable});
    if (loop->body.size() > 1) break;
  }
  parallelize(outer, *count * (step.is_reduction() ? 1 : count_operations(step.bodies[0])));
}

void Scheduler::parallelize(const LoopIds& outer, int64_t work) {
  if (outer.empty() || work < kParallelWork || machine_.threads < 2) return;
  const auto fused = outer.size() == 1 ? Result<LoopId>(outer[0]) : schedule_.fuse(outer);
  if (fused.ok()) (void)tried(schedule_.parallel(*fused));
}

}  // namespace isomer::kernel
