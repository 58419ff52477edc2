#include <algorithm>
#include <set>

#include "kernel/padding.h"
#include "kernel/space/loops.h"
#include "kernel/space/maps.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Parts of a map that are joined along an axis: iterations of one, how many.
constexpr int64_t kShortestPart = 8;
constexpr size_t kMostParts = 64;
/// Rows from which on their padding is written apart.
constexpr int64_t kLongPadded = 64;

/// How long the parts (but the last) are in which selects choose the same all along an axis; none where that doesn't
/// pay.
std::vector<int64_t> parts_of(const View& view, const Block& map, int axis) {
  std::set<int64_t> starts;
  const int64_t end = te::as_constant(map.axes[axis].extent).value_or(0);
  // Padding of a copy stays: whoever reads it may skip it.
  const bool parts_padding =
      is_output(view.kernel(), map.writes[0].buffer) && axis == view.contiguous_axis(map) && end >= kLongPadded;
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

}  // namespace

bool partition_map(Builder& builder, const std::string& name, LoopIds loops, int64_t work) {
  const View& view = builder.view;
  const Block map = view.block(name);
  if (map.predicate || map.bodies.size() != 1) return false;
  for (int axis = 0; axis < static_cast<int>(map.axes.size()); ++axis) {
    const std::vector<int64_t> parts = parts_of(view, map, axis);
    const auto loop = std::find_if(loops.begin(), loops.end(),
                                   [&](LoopId id) { return map.axes[axis].binding == loop_variable(id.variable); });
    if (parts.empty() || loop == loops.end() || !builder.decide(name, fmt::format("parts{}", axis), true)) continue;
    const bool is_innermost = loop + 1 == loops.end();
    LoopId rest = *loop;
    if (!is_innermost) {
      std::rotate(loops.begin(), loop, loop + 1);
      if (!tried(builder.schedule.reorder(loops))) return false;
    }
    const std::vector<std::string> before = builder.schedule.blocks();
    for (const int64_t part : parts) rest = *builder.schedule.partition(rest, part);
    std::vector<std::string> made = made_since(builder, before);
    made.insert(made.begin(), name);
    for (const std::string& part : made) {
      if (is_innermost) {
        vectorize(builder, view.loops(part).back(), part);
      } else {
        schedule_map(builder, part);
      }
    }
    if (is_innermost) parallelize(builder, name, {loops.begin(), loops.end() - 1}, work);
    return true;
  }
  return false;
}

}  // namespace isomer::kernel
