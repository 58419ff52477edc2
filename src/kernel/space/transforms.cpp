#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Points of a tile, in all: they are written out.
constexpr int64_t kMostPoints = 64;
/// Of all of them, in additions.
constexpr int64_t kMostWritten = 8'192;
constexpr int64_t kNarrowest = 4;

/// The one axis in an expression of axes and literals; -1: another number of them, or something else.
int only_axis(const Expr& expr) {
  int found = -1;
  bool is_plain = true;
  te::for_each_node(expr, [&](const Expr& e) {
    if (te::as<te::Load>(e)) is_plain = false;
    const auto* variable = te::as<te::Var>(e);
    if (!variable) return;
    is_plain &= variable->kind == te::VarKind::kSpatial && (found < 0 || found == variable->index);
    found = variable->index;
  });
  return is_plain ? found : -1;
}

/// k of an expression `axis floormod k`; 0: another one.
int64_t period_of(const Expr& expr) {
  const auto* remainder = te::as<te::Binary>(expr);
  return remainder && remainder->op == te::BinaryOp::kFloorMod ? te::as_constant(remainder->right).value_or(0) : 0;
}

/// The axes by whose values selects choose another sum each, with the period of that; 0: none.
std::map<int, int64_t> literal_axes(const Block& map) {
  std::map<int, int64_t> periods;
  for (const Expr& body : map.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      const auto* equal = select ? te::as<te::Binary>(select->condition) : nullptr;
      if (!equal || equal->op != te::BinaryOp::kEqual) return;
      const bool is_left = te::as_constant(equal->left).has_value();
      const Expr& which = is_left ? equal->right : equal->left;
      const int axis = only_axis(which);
      if (axis < 0 || !te::as_constant(is_left ? equal->left : equal->right)) return;
      periods[axis] = std::max(periods[axis], period_of(which));
    });
  return periods;
}

bool is_short(const Block& block, int64_t times) {
  return times <= kMostPoints && times * count_operations(block.bodies[0]) <= kMostWritten;
}

/// Whether selects choose by the place in a tile what is computed.
bool is_transform(const View& view, const std::string& name) {
  const Block& map = view.block(name);
  return view.is_alone(name) && !map.is_reduction() && !map.predicate && map.bodies.size() == 1 &&
         !literal_axes(map).empty();
}

/// The axes along which tiles lie, with their length there if they repeat; 0: all of the axis.
std::map<int, int64_t> tile_axes(const View& view, const Block& map) {
  std::map<int, int64_t> axes = literal_axes(map);
  for (const LoadAccess& access : load_accesses(view.kernel(), map)) {
    const std::vector<std::string> makers = writers(view.kernel(), access.buffer);
    if (makers.size() != 1 || !is_transform(view, makers[0])) continue;
    const auto& index = te::as<te::Load>(access.load)->index;
    for (const auto& [axis, period] : literal_axes(view.block(makers[0]))) {
      const int moved = only_axis(index[axis]);
      if (moved >= 0 && period_of(index[axis]) > 0) axes[moved] = std::max(axes[moved], period_of(index[axis]));
    }
  }
  return axes;
}

/// Vectors of so many elements along an axis; 0: narrow ones alone would divide it.
int64_t width_along(const View& view, const Block& map, int axis) {
  int64_t width = view.lanes(map);
  while (width >= kNarrowest && te::as_constant(map.axes[axis].extent).value_or(1) % width != 0) width /= 2;
  return width < kNarrowest ? 0 : width;
}

/// Loops around tiles, and over the points of one.
struct TileLoops {
  LoopIds outer, tile;
  int64_t points = 1;
};

/// All loops but that of the axis `along`. `lengths`: of tiles, by axis; 0: all of it.
std::optional<TileLoops> divide_into_tiles(Builder& builder, const std::string& name, int along,
                                           const std::map<int, int64_t>& lengths) {
  const Block map = builder.view.block(name);
  TileLoops result;
  for (const LoopId loop : in_memory_order(builder, name)) {
    const auto axis = std::find_if(map.axes.begin(), map.axes.end(),
                                   [&](const Iterator& each) { return each.binding == loop_variable(loop.variable); });
    if (axis == map.axes.end()) return std::nullopt;
    const auto k = static_cast<int>(axis - map.axes.begin());
    const auto found = lengths.find(k);
    if (k == along) {
      continue;
    } else if (found == lengths.end()) {
      result.outer.push_back(loop);
    } else if (found->second > 0) {
      const auto parts = builder.schedule.split(loop, Integers{-1, found->second});
      if (!parts.ok()) return std::nullopt;
      result.outer.push_back((*parts)[0]);
      result.tile.push_back((*parts)[1]);
      result.points *= found->second;
    } else {
      result.tile.push_back(loop);
      result.points *= builder.view.extent(loop);
    }
  }
  return result;
}

/// What a tile is made of is computed where it is, once, in registers: by which maps, the last one first. Nothing: a
/// transform among them can't be, or it can't be written out.
std::optional<std::vector<std::string>> make_inside(Builder& builder, const std::string& name, LoopId around,
                                                    int64_t width) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  std::vector<std::string> earlier = schedule.blocks(), inside;
  earlier.erase(std::find(earlier.begin(), earlier.end(), name), earlier.end());
  for (auto producer = earlier.rbegin(); producer != earlier.rend(); ++producer) {
    const Block made = view.block(*producer);
    if (!view.is_alone(*producer) || made.is_reduction() || made.bodies.size() != 1) continue;
    const auto all = points(made);
    const Schedule without = schedule;
    if (!all || !schedule.compute_at(*producer, around).ok()) continue;
    const LoopIds own = view.inner_loops(*producer, around);
    if (view.iterations(view.loops(*producer)) > *all + *all / 2 || own.empty() || view.extent(own.back()) != width ||
        !is_short(made, view.iterations(own) / width)) {
      schedule = without;
      if (is_transform(view, *producer)) return std::nullopt;
      continue;
    }
    inside.push_back(*producer);
  }
  for (const std::string& each : inside) {
    (void)tried(schedule.set_scope(view.buffer(view.block(each).writes[0].buffer).name, "registers"));
    if (!write_out(builder, view.inner_loops(each, around))) return std::nullopt;
  }
  return inside;
}

/// Tiles are as long as they repeat along an axis, or all of the axis. How many maps that make what a tile is made of
/// are inside.
std::optional<size_t> lay_out_transform(Builder& builder, const std::string& name, bool by_periods) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const Block map = view.block(name);
  const int along = view.contiguous_axis(map);
  std::map<int, int64_t> lengths = tile_axes(view, map);
  const auto work = points(map);
  if (along < 0 || lengths.contains(along) || !work || *work == 0) return std::nullopt;
  const int64_t width = width_along(view, map, along);
  if (width == 0) return std::nullopt;
  if (!by_periods)
    for (auto& [axis, length] : lengths) length = 0;

  auto loops = divide_into_tiles(builder, name, along, lengths);
  if (!loops) return std::nullopt;
  const LoopId innermost = {te::as<te::Var>(map.axes[along].binding)->index};
  const auto vectors = schedule.split(innermost, Integers{-1, width});
  if (!vectors.ok() || !is_short(map, loops->points)) return std::nullopt;
  const LoopId around = (*vectors)[0];
  loops->outer.push_back(around);
  loops->tile.push_back((*vectors)[1]);
  LoopIds order = loops->outer;
  order.insert(order.end(), loops->tile.begin(), loops->tile.end());
  if (!schedule.reorder(order).ok()) return std::nullopt;

  const auto inside = make_inside(builder, name, around, width);
  if (!inside || !write_out(builder, loops->tile)) return std::nullopt;
  parallelize(builder, name, loops->outer, *work * static_cast<int64_t>(1 + inside->size()));
  return inside->size();
}

void schedule_transform(Builder& builder, const std::string& name) {
  if (!builder.decide(name, "write_out_tiles", true)) return;
  const Schedule before = builder.schedule;
  std::vector<int64_t> candidates;  // by periods: 1
  std::optional<std::pair<size_t, int64_t>> most;
  for (const bool by_periods : {true, false}) {
    const auto inside = lay_out_transform(builder, name, by_periods);
    builder.schedule = before;
    if (!inside) continue;
    candidates.push_back(by_periods ? 1 : 0);
    if (!most || *inside > most->first) most = {*inside, by_periods ? 1 : 0};
  }
  if (most) (void)lay_out_transform(builder, name, builder.decide(name, "by_periods", candidates, most->second) != 0);
}

}  // namespace

Module transforms() { return {"transforms", is_transform, schedule_transform}; }

}  // namespace isomer::kernel
