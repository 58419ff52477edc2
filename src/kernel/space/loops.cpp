#include "kernel/space/loops.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "graph/te/simplify.h"
#include "util/stable_sort.h"

namespace isomer::kernel {
namespace {

/// Loops shorter than this many element operations are not worth a fork and join.
constexpr int64_t kParallelWork = 16'384;
/// Bytes of results that no cache keeps until they are read.
constexpr int64_t kBeyondCaches = 64 << 20;
constexpr int64_t kFewElements = 8;
/// Of a map, computed at a time.
constexpr int64_t kMostVectors = 4;
/// Vectors of a map that reads by quotients and remainders, written out.
constexpr int64_t kMostPeriods = 8;
/// Vectors of a row that reads at no constant distance, written out.
constexpr int64_t kMostIrregular = 64;

/// Whole periods of what the map reads are written out, so that which lanes of which vectors they are is known.
bool vectorize_periods(Builder& builder, LoopId loop, const std::string& name) {
  const View& view = builder.view;
  const Block map = view.block(name);
  const auto axis = axis_along(map, loop);
  if (!axis) return false;
  const int64_t count = view.extent(loop), width = view.lanes(map),
                repeats = period(map, te::axis(static_cast<int>(*axis)));
  if (repeats < 2 || width < 4) return false;
  const int64_t vectors = std::lcm(repeats, width) / width;
  if (vectors > kMostPeriods || count < vectors * width || !builder.decide(name, "whole_periods", true)) return false;
  const Schedule before = builder.schedule;
  const auto parts = builder.schedule.split(loop, vectors == 1 ? Integers{-1, width} : Integers{-1, vectors, width});
  if (!parts.ok() || !write_out(builder, {parts->begin() + 1, parts->end()}) ||
      (count % (vectors * width) != 0 && !tried(builder.schedule.peel((*parts)[0], "last")))) {
    builder.schedule = before;
    return false;
  }
  return true;
}

/// Whether a map reads along the loop at no constant distance (nearest elements of another size).
bool reads_irregularly(const View& view, const Block& map, LoopId loop) {
  const auto axis = axis_along(map, loop);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), map);
  return axis && !map.is_reduction() &&
         std::any_of(accesses.begin(), accesses.end(), [&](const LoadAccess& access) { return !access.axes[*axis]; });
}

}  // namespace

std::optional<size_t> axis_along(const Block& block, LoopId loop) {
  for (size_t axis = 0; axis < block.axes.size(); ++axis)
    if (te::as_constant(te::simplify_index(block.axes[axis].binding - loop_variable(loop.variable)))) return axis;
  return std::nullopt;
}

LoopIds in_memory_order(Builder& builder, const std::string& name) {
  const LoopIds loops = builder.view.loops(name);
  const Block& map = builder.view.block(name);
  const Strides out = write_strides(builder.kernel(), map);
  std::vector<std::pair<int64_t, LoopId>> order;
  for (const LoopId loop : loops) {
    const auto axis = axis_along(map, loop);
    if (!axis || !out[*axis]) return loops;
    order.emplace_back(builder.view.extent(loop) == 1 ? INT64_MAX : *out[*axis], loop);
  }
  stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  LoopIds sorted;
  for (const auto& [stride, loop] : order) sorted.push_back(loop);
  return sorted == loops || tried(builder.schedule.reorder(sorted)) ? sorted : loops;
}

void fuse_run(Builder& builder, const std::string& name, LoopIds& loops) {
  const View& view = builder.view;
  const Block map = view.block(name);
  if (holds_select(map.bodies[0])) return;
  std::vector<Strides> memory = {write_strides(view.kernel(), map)};
  for (const LoadAccess& access : load_accesses(view.kernel(), map)) memory.push_back(access.axes);
  size_t first = loops.size() - 1;
  int64_t length = view.extent(loops[first]);
  const auto inner = axis_along(map, loops[first]);
  while (inner && first > 0) {
    const auto outer = axis_along(map, loops[first - 1]);
    const bool goes_on = outer && std::all_of(memory.begin(), memory.end(), [&](const Strides& strides) {
                           return strides[*inner] && strides[*outer] == *strides[*inner] * length;
                         });
    if (!goes_on) break;
    length *= view.extent(loops[--first]);
  }
  if (first + 1 == loops.size() || !builder.decide(name, "fuse_run", true)) return;
  const auto run = builder.schedule.fuse({loops.begin() + static_cast<std::ptrdiff_t>(first), loops.end()});
  if (!run.ok()) return;
  loops.resize(first);
  loops.push_back(*run);
}

void vectorize(Builder& builder, LoopId loop, const std::string& name) {
  const View& view = builder.view;
  const Block map = view.block(name);
  const int64_t count = view.extent(loop), widest = view.lanes(map);
  if (count < 2 || vectorize_periods(builder, loop, name)) return;
  const bool is_irregular = reads_irregularly(view, map, loop);
  int64_t width = widest;
  // With masks the last part of a vector costs no more than a whole one.
  while (count < 8 * widest && width > 4 && count % width != 0 && !builder.machine().vectors.masks) width /= 2;
  if (count % width != 0) width = std::min<int64_t>(widest, std::bit_ceil(static_cast<uint64_t>(count)));
  // Elements that lie apart are loaded one by one; then lanes that are none cost, too.
  if (count < kFewElements && !view.runs_along(map)) width = std::bit_floor(static_cast<uint64_t>(count));
  // Several vectors at a time hide each other's latency.
  if (view.runs_along(map))
    for (int64_t vectors = kMostVectors; vectors > 1 && width == widest; vectors /= 2)
      if (count % (vectors * width) == 0) width *= vectors;
  std::vector<int64_t> widths;
  for (int64_t each = 1; each <= kMostVectors * widest && each < 2 * count; each *= 2) widths.push_back(each);
  if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(width);
  width = builder.decide(name, "width", std::move(widths), width);
  const auto parts = builder.schedule.split(loop, Integers{-1, width});
  if (!parts.ok() || !tried(builder.schedule.vectorize((*parts)[1]))) return;
  const Buffer& written = view.buffer(map.writes[0].buffer);
  const bool is_large =
      element_count(written.shape).constant().value_or(0) * bit_width(written.dtype) / 8 >= kBeyondCaches;
  if (!map.is_reduction() && builder.decide(name, "stream", is_large))
    (void)tried(builder.schedule.annotate((*parts)[1], kStream, 1));
  if (count % width != 0 && builder.decide(name, "peel", true)) (void)tried(builder.schedule.peel((*parts)[0], "last"));
  // Which elements the lanes of each vector read is known then.
  if (is_irregular && view.has_loop((*parts)[0]) && view.extent((*parts)[0]) <= kMostIrregular &&
      builder.decide(name, "row_written_out", true))
    (void)tried(builder.schedule.unroll((*parts)[0]));
}

void parallelize(Builder& builder, const std::string& name, const LoopIds& outer, int64_t work) {
  if (outer.empty() || builder.machine().threads < 2) return;
  if (!builder.decide(name, "parallel", work >= kParallelWork)) return;
  // As many of them as lie in each other alone: beside the innermost may be what was peeled off it.
  LoopIds nested = outer;
  std::optional<LoopId> shared;
  for (; !shared; nested.pop_back()) {
    const auto fused = nested.size() == 1 ? Result<LoopId>(nested[0]) : builder.schedule.fuse(nested);
    if (fused.ok()) shared = *fused;
  }
  (void)tried(builder.schedule.parallel(*shared));
}

bool write_out(Builder& builder, const LoopIds& loops) {
  for (size_t k = 0; k + 1 < loops.size(); ++k) (void)tried(builder.schedule.unroll(loops[k]));
  return tried(builder.schedule.vectorize(loops.back()));
}

std::vector<std::string> made_since(const Builder& builder, const std::vector<std::string>& before) {
  std::vector<std::string> made = builder.schedule.blocks();
  std::erase_if(made,
                [&](const std::string& name) { return std::find(before.begin(), before.end(), name) != before.end(); });
  return made;
}

}  // namespace isomer::kernel
