#include <algorithm>
#include <numeric>

#include "kernel/space/loops.h"
#include "kernel/space/maps.h"
#include "kernel/space/tile.h"

namespace isomer::kernel {
namespace {

/// Blocks (tiles) of a transposition that lie one after the other in its source.
constexpr int64_t kBlocksOfRun = 16;
constexpr int64_t kTilesOfRun = 32;
/// Fewer are read side by side, each from its beginning to its end.
constexpr int64_t kManyStreams = 8;
/// Of four bytes, in a line of cache.
constexpr int64_t kLineElements = 16;

/// An axis along which results lie side by side in blocks (of a packed operand).
struct Blocks {
  int axis = -1;  ///< -1: there is none
  int64_t width = 0;
};

Blocks blocks_of(const Block& map) {
  const auto& index = map.writes[0].index;
  const auto* place = index.empty() ? nullptr : te::as<te::Binary>(index.back());
  if (!place || place->op != te::BinaryOp::kFloorMod) return {};
  const auto* axis = te::as<te::Var>(place->left);
  const auto width = te::as_constant(place->right);
  if (!axis || axis->kind != te::VarKind::kSpatial || !width) return {};
  return {axis->index, *width};
}

/// The axis along which a source lies contiguous, where that is another one than the result's; -1: none.
int transposed_axis(const View& view, const Block& map) {
  const Strides out = write_strides(view.kernel(), map);
  const int contiguous = view.contiguous_axis(map), innermost = contiguous < 0 ? blocks_of(map).axis : contiguous;
  int along = -1;
  for (const LoadAccess& access : load_accesses(view.kernel(), map))
    for (size_t k = 0; k < map.axes.size() && innermost >= 0 && access.axes[innermost] != 0; ++k)
      if (access.axes[k] == 1 && out[k] && *out[k] > 1 && te::as_constant(map.axes[k].extent).value_or(0) >= 8)
        along = static_cast<int>(k);
  return along;
}

/// The loop over it among these, but the last; nothing where there is none.
std::optional<size_t> place_of_source(const View& view, const Block& map, const LoopIds& loops) {
  const int along = loops.size() > 1 ? transposed_axis(view, map) : -1;
  if (along < 0) return std::nullopt;
  const auto at = std::find_if(loops.begin(), loops.end() - 1,
                               [&](LoopId loop) { return axis_along(map, loop) == static_cast<size_t>(along); });
  const auto place = static_cast<size_t>(at - loops.begin());
  return place + 1 < loops.size() ? std::optional(place) : std::nullopt;
}

/// How many tiles of lines so far apart (bytes) are written side by side: the sets that the lines share, and the pages
/// that they lie on, are not to be taken from each other. But lines of the source are read whole.
int64_t tiles_of_run(int64_t pitch, int64_t width) {
  const int64_t sets = kSharedSet / std::gcd(pitch, kSharedSet);
  return std::max(std::min({kTilesOfRun, sets / 2, 2 * kSharedSet / std::max<int64_t>(pitch, 1)}),
                  (kLineElements + width - 1) / width);
}

}  // namespace

bool transpose_map(Builder& builder, const std::string& name, const LoopIds& all, int64_t work) {
  const View& view = builder.view;
  const Block map = view.block(name);
  const auto place = place_of_source(view, map, all);
  int64_t width = view.lanes(map);
  while (place && width > 4 && std::min(view.extent(all[*place]), view.extent(all.back())) < width) width /= 2;
  if (!place || map.predicate || holds_select(map.bodies[0]) || width < 4 || width > 16 ||
      view.extent(all[*place]) < width || view.extent(all.back()) < width ||
      !builder.decide(name, "transpose_in_registers", true))
    return false;
  Schedule& schedule = builder.schedule;
  const Schedule before = schedule;
  LoopIds loops = all;
  const int64_t tall = view.extent(loops[*place]) % width, broad = view.extent(loops.back()) % width;
  LoopIds down = *schedule.split(loops[*place], Integers{-1, width}),
          across = *schedule.split(loops.back(), Integers{-1, width});
  loops.pop_back();
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(*place));
  if (tall != 0) {
    LoopIds order = loops;
    order.insert(order.begin(), down[0]);
    order.insert(order.end(), {across[0], down[1], across[1]});
    if (!tried(schedule.reorder(order)) || !tried(schedule.peel(down[0], "last"))) {
      schedule = before;
      return false;
    }
  }
  // Runs of tiles along the source: it is fetched ahead only where lines follow each other. Whole lines are written.
  const int64_t tiles = view.extent(down[0]);
  const int64_t pitch = *write_strides(view.kernel(), map)[static_cast<size_t>(transposed_axis(view, map))] *
                        bit_width(view.buffer(map.writes[0].buffer).dtype) / 8;
  int64_t run = std::min(tiles_of_run(pitch, width), tiles);
  while (tiles % run != 0) --run;
  std::vector<int64_t> runs_of;
  for (int64_t each = 1; each <= std::min(4 * kTilesOfRun, tiles); ++each)
    if (tiles % each == 0) runs_of.push_back(each);
  run = builder.decide(name, "run", std::move(runs_of), run);
  const LoopIds runs = *schedule.split(down[0], Integers{-1, run});
  LoopIds order = loops;
  order.push_back(runs[0]);
  LoopIds lines = {across[0]};
  if (broad == 0 && width < kLineElements && view.extent(across[0]) % (kLineElements / width) == 0)
    lines = *schedule.split(across[0], Integers{-1, kLineElements / width});
  order.insert(order.end(), {lines[0], runs[1]});
  if (lines.size() > 1) order.push_back(lines[1]);
  order.insert(order.end(), {down[1], across[1]});
  if (!tried(schedule.reorder(order)) || !tried(schedule.vectorize(across[1])) || !tried(schedule.vectorize(down[1]))) {
    schedule = before;
    return false;
  }
  if (broad != 0 && view.extent(lines[0]) > 1) (void)tried(schedule.peel(lines[0], "last"));
  LoopIds outer = loops;
  outer.push_back(runs[0]);
  if (broad == 0) outer.push_back(lines[0]);
  parallelize(builder, name, outer, work);
  for (const std::string& tail : made_since(builder, before.blocks()))
    if (view.is_alone(tail)) schedule_map(builder, tail);
  return true;
}

bool pack_map(Builder& builder, const std::string& name, int64_t work) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const Block map = view.block(name);
  const auto [axis, width] = blocks_of(map);
  LoopIds loops = view.loops(name);
  if (axis < 0 || loops.size() != map.axes.size() || transposed_axis(view, map) < 0) return false;
  const Schedule before = schedule;
  const std::vector<std::string> blocks = schedule.blocks();
  const LoopId along = loops[static_cast<size_t>(axis)];
  const int64_t count = view.extent(along), whole = count / width * width;
  loops.erase(loops.begin() + axis);
  loops.insert(loops.begin(), along);
  // Whole blocks, and what is left of them: blocks, other loops, places in a block.
  const auto lay_out = [&] {
    if (!tried(schedule.reorder(loops))) return false;
    if (whole > 0 && whole < count && !schedule.partition(along, whole).ok()) return false;
    std::vector<std::string> parts = made_since(builder, blocks);
    parts.insert(parts.begin(), name);
    for (const std::string& part : parts) {
      LoopIds order = view.loops(part);
      if (view.extent(order.front()) > width) {
        const auto places = schedule.split(order.front(), Integers{-1, width});
        if (!places.ok()) return false;
        order.front() = (*places)[0];
        order.push_back((*places)[1]);
      } else {
        std::rotate(order.begin(), order.begin() + 1, order.end());
      }
      if (!tried(schedule.reorder(order))) return false;
      if (transpose_map(builder, part, order, work)) continue;
      if (part == name) return false;
      vectorize(builder, order.back(), part);
    }
    return true;
  };
  if (lay_out()) return true;
  schedule = before;
  return false;
}

void block_transposition(Builder& builder, const std::string& name, LoopIds& loops) {
  const View& view = builder.view;
  const auto place = place_of_source(view, view.block(name), loops);
  if (!place) return;
  const int64_t length = view.extent(loops[*place]), breadth = view.extent(loops.back());
  if (!builder.decide(name, "transpose_in_blocks", breadth >= kManyStreams)) return;
  int64_t step = std::min<int64_t>(16, length);
  while (step > 4 && length % step != 0) --step;
  if (length % step != 0) step = 16;
  const auto down = builder.schedule.split(
      loops[*place], Integers{-1, std::min<int64_t>(kBlocksOfRun, (length + step - 1) / step), step});
  const auto across = builder.schedule.split(loops.back(), Integers{-1, std::min<int64_t>(16, breadth)});
  if (!down.ok() || !across.ok()) return;
  LoopIds order = loops;
  order.pop_back();
  order[*place] = (*down)[0];
  order.insert(order.end(), {(*across)[0], (*down)[1], (*down)[2], (*across)[1]});
  if (builder.schedule.reorder(order).ok()) loops = order;
}

}  // namespace isomer::kernel
