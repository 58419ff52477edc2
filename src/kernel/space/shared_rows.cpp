#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/rows.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Elements of a row of intermediate results that a core's own cache holds.
constexpr int64_t kRowElements = 65'536;
/// Rows that are shorter, and those that are shorter than the second where all of them together stay in a core's own
/// cache, are computed step by step, all rows of each: lanes run over rows then, which fill no vector by themselves.
constexpr int64_t kShortRow = 8, kShortRowInCache = 32;
/// Rows that take turns: while one waits for what its lanes sum up to, the next goes on.
constexpr int64_t kTurns = 4;
/// Elements of them, at most: the waiting does not count beside long rows.
constexpr int64_t kElementsInTurns = 2048;

/// How many leading axes of a map index all that it reads of reductions: what it reads of them is the work of one
/// row. 0: it reads none, or has no rows.
size_t row_axes(const View& view, const Block& map) {
  size_t rows = map.axes.size();
  bool reads_reduction = false;
  te::for_each_node(map.bodies[0], [&](const Expr& e) {
    const auto* load = te::as<te::Load>(e);
    if (!load) return;
    const auto makers = writers(view.kernel(), load->buffer.index);
    if (makers.size() != 1 || !view.follows_reduction(makers[0])) return;
    reads_reduction = true;
    size_t leading = 0;
    while (leading < rows &&
           std::find(load->index.begin(), load->index.end(), te::axis(static_cast<int>(leading))) != load->index.end())
      ++leading;
    rows = leading;
  });
  return reads_reduction && rows < map.axes.size() ? rows : 0;
}

/// Moves a block under the loop unless it would be computed more than once, or what it passes on would not fit a
/// cache.
bool moved_to_row(Builder& builder, const std::string& name, LoopId row) {
  const View& view = builder.view;
  const Schedule before = builder.schedule;
  const auto work = points(view.block(name));
  if (!work || !builder.schedule.compute_at(name, row).ok()) return false;
  const bool is_small =
      view.iterations(view.loops(name)) <= *work && *work / std::max<int64_t>(view.extent(row), 1) <= kRowElements;
  if (builder.decide(name, "in_row", is_small)) return true;
  builder.schedule = before;
  return false;
}

/// The loop over groups of rows of one size that take turns.
LoopId grouped(Builder& builder, const std::string& name, LoopId row, int64_t work) {
  const int64_t count = builder.view.extent(row);
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= 2 * kTurns; ++size)
    if (count % size == 0) sizes.push_back(size);
  const int64_t most = std::min(kTurns, kElementsInTurns / std::max<int64_t>(work / std::max<int64_t>(count, 1), 1));
  int64_t preferred = 1;
  while (2 * preferred <= most && count % (2 * preferred) == 0) preferred *= 2;
  if (preferred == 1 && most == kTurns) preferred = sizes.back();
  const int64_t size = builder.decide(name, "rows_in_turns", sizes, preferred);
  if (size == 1) return row;
  return (*builder.schedule.split(row, Integers{-1, size}))[0];
}

bool is_short(const Block& map, size_t rows, int64_t work) {
  int64_t length = 1;
  for (size_t k = rows; k < map.axes.size(); ++k) length *= te::as_constant(map.axes[k].extent).value_or(1);
  return length < kShortRow || (length < kShortRowInCache && work <= kRowElements);
}

}  // namespace

bool share_rows(Builder& builder, const std::string& name, int64_t work) {
  const View& view = builder.view;
  const Block map = view.block(name);
  const size_t rows = row_axes(view, map);
  if (rows == 0 || !builder.decide(name, "share_rows", !is_short(map, rows, work))) return false;
  const LoopIds loops = view.loops(name);
  const LoopIds outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows));
  const LoopId row = grouped(builder, name, rows == 1 ? outer[0] : *builder.schedule.fuse(outer), work);
  std::vector<std::string> earlier = builder.schedule.blocks();
  earlier.erase(std::find(earlier.begin(), earlier.end(), name), earlier.end());
  std::vector<std::string> moved;
  for (auto producer = earlier.rbegin(); producer != earlier.rend(); ++producer)
    if (view.is_alone(*producer) && moved_to_row(builder, *producer, row)) moved.push_back(*producer);
  vectorize(builder, view.loops(name).back(), name);
  for (auto producer = moved.rbegin(); producer != moved.rend(); ++producer) {
    if (view.block(*producer).is_reduction()) {
      vectorize_reduction(builder, *producer);
    } else {
      vectorize(builder, view.loops(*producer).back(), *producer);
    }
  }
  parallelize(builder, name, {row}, work * static_cast<int64_t>(1 + moved.size()));
  return true;
}

}  // namespace isomer::kernel
