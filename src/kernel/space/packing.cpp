#include <fmt/ranges.h>

#include <algorithm>

#include "kernel/space/maps.h"
#include "kernel/space/tiles.h"

namespace isomer::kernel {
namespace {

/// Lines of one set that the first cache keeps (8 to 12).
constexpr int64_t kLinesOfSet = 12;

/// Where what is packed lies: dims over other axes, blocks along the vectors, dims over the reduction in the order of
/// its loops, elements of a block. `streams`, of that: each vector of a block has its own, one behind the other.
struct PackedLayout {
  std::string blocks, streams;
};

PackedLayout packed_layout(const LoadAccess& access, const Tile& tile) {
  const auto& index = te::as<te::Load>(access.load)->index;
  const auto along = static_cast<std::ptrdiff_t>(packed_dim(access, tile.vector_axis)->dim);
  std::vector<std::pair<int, std::ptrdiff_t>> dims;
  for (size_t k = 0; k < index.size(); ++k) {
    if (static_cast<std::ptrdiff_t>(k) == along) continue;
    int place = -1;
    te::for_each_node(index[k], [&](const Expr& e) {
      const auto* variable = te::as<te::Var>(e);
      if (!variable || variable->kind != te::VarKind::kReduce) return;
      const auto at = std::find(tile.window.begin(), tile.window.end(), variable->index) - tile.window.begin();
      place = std::max(place, static_cast<int>(at));
    });
    dims.emplace_back(place, static_cast<std::ptrdiff_t>(k));
  }
  std::sort(dims.begin(), dims.end());
  std::vector<std::string> layout, streams;
  for (const auto& [place, k] : dims)
    if (place < 0) layout.push_back(fmt::format("{}", k));
  layout.push_back(fmt::format("{}/{}", along, tile.width()));
  const size_t last = dims.size() + 1;
  for (size_t k = 0; k < last; ++k) streams.push_back(fmt::format("{}", k));
  streams.insert(streams.begin() + static_cast<std::ptrdiff_t>(layout.size()), fmt::format("{}/{}", last, tile.lanes));
  streams.push_back(fmt::format("{}%{}", last, tile.lanes));
  for (const auto& [place, k] : dims)
    if (place >= 0) layout.push_back(fmt::format("{}", k));
  layout.push_back(fmt::format("{}%{}", along, tile.width()));
  return {fmt::format("{}", fmt::join(layout, ":")), fmt::format("{}", fmt::join(streams, ":"))};
}

/// A copy of the operand: as it is, or by the block's own iterators where the columns begin inside of a block.
Result<std::string> copied(Builder& builder, const std::string& name, const LoadAccess& access, const Tile& tile) {
  const std::string& source = builder.view.buffer(access.buffer).name;
  const int64_t number = builder.view.ordinal(name, access);
  if (packed_dim(access, tile.vector_axis)->offset % tile.width() == 0)
    return builder.schedule.cache_read(name, source, number);
  return builder.schedule.reindex(name, source, number);
}

/// What the block reads of the copy.
LoadAccess read_of(const View& view, const std::string& name, const std::string& copier) {
  const int copy = view.block(copier).writes[0].buffer;
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), view.block(name));
  return *std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& each) { return each.buffer == copy; });
}

/// Whether steps read lines that share one set of the first cache, more of them than it keeps: each tile of rows would
/// bring them anew (1,024 columns of float32: 1.3 to 1.5 times as long).
bool crowds_a_set(const View& view, const Block& block, const LoadAccess& access, const Tile& tile) {
  if (tile.window.empty()) return false;
  const auto last = static_cast<size_t>(tile.window.back());
  const int64_t pitch = access.reduce[last].value_or(0) * bit_width(access.load.dtype()) / 8;
  return pitch != 0 && pitch % kSharedSet == 0 && view.reuse(block, access) >= kWorthPadding &&
         te::as_constant(block.reduce[last].extent).value_or(0) > kLinesOfSet;
}

}  // namespace

bool pack(Builder& builder, const Tiled& reduction, Tile& tile) {
  const View& view = builder.view;
  const std::string& name = reduction.name;
  const Block block = view.block(name);
  const bool has_tail = te::as_constant(block.axes[tile.vector_axis].extent).value_or(0) % tile.width() != 0;
  tile.pads = has_tail;
  int operand = 0;
  for (const LoadAccess& access : tile.accesses) {
    const auto stride = access.axes[tile.vector_axis];
    if (stride == 0) continue;
    const bool can = can_pack(view, reduction, access, tile.vector_axis, tile.width());
    if (!can && stride != 1) {  // lanes are shuffled
      tile.pads = false;
      continue;
    }
    const bool worth =
        can && (stride != 1 || view.is_constant(access.buffer) ||
                (has_tail && view.reuse(block, access) >= kWorthPadding) || crowds_a_set(view, block, access, tile));
    const bool packs = stride != 1 || (can && builder.decide(name, fmt::format("packs_operand{}", operand++), worth));
    if (!packs) {
      tile.pads = false;
      continue;
    }
    const bool is_constant = view.is_constant(access.buffer);
    // What each tile reads of its own comes in several streams, of which memory gives more at once than of one.
    const bool is_read_once = view.reuse(block, access) <= tile.rows;
    const bool streams =
        tile.vectors > 1 && builder.decide(name, "streams_of_" + view.buffer(access.buffer).name, is_read_once);
    const auto copier = copied(builder, name, access, tile);
    if (!copier.ok() && stride == 1) {
      tile.pads = false;
      continue;
    }
    if (!copier.ok()) return false;
    const PackedLayout layout = packed_layout(read_of(view, name, *copier), tile);
    if (!builder.schedule.transform_layout(*copier, layout.blocks).ok() ||
        (streams && !builder.schedule.transform_layout(*copier, layout.streams).ok()))
      return false;
    if (!is_constant) schedule_map(builder, *copier);
  }
  return true;
}

}  // namespace isomer::kernel
