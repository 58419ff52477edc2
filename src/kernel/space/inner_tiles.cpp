#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/tiles.h"

namespace isomer::kernel {
namespace {

/// Vectors of results that are computed in one iteration, and steps of the reduction, at most.
constexpr int64_t kMostUnrolled = 48, kMostSteps = 4;

/// Results that a tile does not fill are summed up in registers and stored once: in memory each step would read and
/// write parts of vectors. The block that computes them; the same one where that can't be.
std::string sum_apart(Builder& builder, const std::string& name, const Tile& tile, LoopId around) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const Schedule before = schedule;
  const std::string registers = view.buffer(view.block(name).writes[0].buffer).name + ".cache";
  const auto made = schedule.cache_write(name);
  if (!made.ok() || !schedule.reverse_compute_at(name, around).ok() ||
      !schedule.set_scope(registers, "registers").ok()) {
    schedule = before;
    return name;
  }
  const LoopIds all = view.loops(name);
  LoopIds own(all.end() - static_cast<std::ptrdiff_t>(view.block(name).axes.size()), all.end());
  const auto across = schedule.split(own[static_cast<size_t>(tile.vector_axis)], Integers{tile.vectors, tile.lanes});
  if (!across.ok()) return *made;
  own.erase(own.begin() + tile.vector_axis);
  own.insert(own.end(), across->begin(), across->end());
  if (schedule.reorder(own).ok()) (void)write_out(builder, own);
  return *made;
}

}  // namespace

LoopIds split_steps(Builder& builder, const std::string& name, const Tile& tile, LoopId loop) {
  const int64_t length = builder.view.extent(loop), all = tile.rows * tile.vectors;
  if (length == 0) return {};
  std::vector<int64_t> candidates;
  for (int64_t steps = 1; steps <= kMostSteps; ++steps)
    if (length % steps == 0) candidates.push_back(steps);
  const auto preferred = std::find_if(candidates.rbegin(), candidates.rend() - 1,
                                      [&](int64_t each) { return each * all <= kMostUnrolled; });
  const int64_t steps = builder.decide(name, "steps", candidates, *preferred);
  if (steps == 1) return {};
  const auto parts = builder.schedule.split(loop, Integers{-1, steps});
  return parts.ok() ? *parts : LoopIds();
}

void lay_out_initialization(Builder& builder, const std::string& computing) {
  write_out_beside(builder, computing, computing + ".init");
}

void write_out_beside(Builder& builder, const std::string& computing, const std::string& other) {
  const View& view = builder.view;
  if (!view.has_block(other)) return;
  const LoopIds around = view.loops(computing), loops = view.loops(other);
  LoopIds own;
  for (const LoopId loop : loops)
    if (std::find(around.begin(), around.end(), loop) == around.end() &&
        (loop == loops.back() || view.extent(loop) <= kMostRows))
      own.push_back(loop);
  if (!own.empty()) (void)write_out(builder, own);
}

bool tensorize(Builder& builder, const LoopIds& loops) {
  Integers extents;
  for (const LoopId loop : loops) extents.push_back(builder.view.extent(loop));
  return tried(builder.schedule.tensorize(loops.front(), tile_name(builder.machine().vectors, extents)));
}

bool lay_out_inside(Builder& builder, const std::string& name, const Tile& tile, const LoopIds& loops) {
  if (tile.row_period > 1) return false;
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const size_t rank = view.block(name).axes.size();
  const int64_t columns = view.extent(loops[tile.vector_axis]),
                lines = tile.row_axis < 0 ? 0 : view.extent(loops[tile.row_axis]);
  const auto across = schedule.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
  if (!across.ok()) return false;
  LoopIds order, inner, down;
  for (size_t k = 0; k < rank; ++k)
    if (static_cast<int>(k) != tile.vector_axis && static_cast<int>(k) != tile.row_axis && loops[k] != LoopId())
      order.push_back(loops[k]);
  order.push_back((*across)[0]);
  if (tile.row_axis >= 0) {
    down = *schedule.split(loops[tile.row_axis], Integers{-1, tile.rows});
    order.push_back(down[0]);
    inner.push_back(down[1]);
  }
  inner.insert(inner.end(), across->begin() + 1, across->end());
  const size_t front = order.size();
  for (const int k : tile.window) order.push_back(loops[rank + static_cast<size_t>(k)]);
  LoopIds steps;
  if (!tile.window.empty()) steps = split_steps(builder, name, tile, order.back());
  if (!steps.empty()) {
    order.pop_back();
    order.insert(order.end(), steps.begin(), steps.end());
  }
  order.insert(order.end(), inner.begin(), inner.end());
  if (!schedule.reorder(order).ok()) return false;
  // Rows at a distance that data decide may overlap, for all that a compiler knows.
  const bool is_open = front > 0 && !constants(view.buffer(view.block(name).writes[0].buffer).shape);
  const bool is_padded =
      tile.pads && builder.decide(name, "pad_columns", true) && tried(schedule.pad(name, tile.vector_axis));
  const bool is_part = !is_padded && columns % tile.width() != 0;
  const std::string computing = is_part && front > 0 && !is_open && builder.decide(name, "sum_apart", true)
                                    ? sum_apart(builder, name, tile, order[front - 1])
                                    : name;
  if (is_open) {
    const auto stored = schedule.keep_in_registers(name, order[front - 1]);
    if (!stored.ok()) return false;
    write_out_beside(builder, name, *stored);
    lay_out_initialization(builder, name);
  } else if (!tile.window.empty() && tried(schedule.decompose_reduction(computing, order[front]))) {
    lay_out_initialization(builder, computing);
  }
  if (!tensorize(builder, inner)) return false;
  if (!steps.empty()) (void)tried(schedule.unroll(steps[1]));
  if (!down.empty() && lines % tile.rows != 0 && lines > tile.rows && builder.decide(name, "peel_rows", true))
    (void)tried(schedule.peel(down[0], "last"));
  if (!is_padded && columns % tile.width() != 0 && builder.decide(name, "peel_columns", true))
    (void)tried(schedule.peel((*across)[0], "last"));
  return true;
}

}  // namespace isomer::kernel
