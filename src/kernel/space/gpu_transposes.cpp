#include <algorithm>
#include <array>

#include "kernel/space/gpu_modules.h"

namespace isomer::kernel {
namespace {

/// Threads along a tile's side, and along its other side. Both sides are as long as the first of them has elements.
constexpr int64_t kThreadsAcross = 32, kThreadsDown = 8;

/// A load that runs through memory along one axis while the output does along another.
struct Crossing {
  LoadAccess access;
  size_t read_axis = 0, written_axis = 0;
  int64_t vector = 1;  ///< elements of 4 bytes, where both sides have room for them
};

std::optional<Crossing> crossing_of(const View& view, const Block& map) {
  if (map.is_reduction() || map.writes.size() != 1 || map.bodies.size() != 1) return std::nullopt;
  const Integers extents = extents_of(map);
  const Strides written = write_strides(view.kernel(), map);
  const auto along = [&](const Strides& strides) -> std::optional<size_t> {
    for (size_t k = 0; k < strides.size(); ++k)
      if (strides[k] == 1 && extents[k] >= kThreadsAcross / 2) return k;
    return std::nullopt;
  };
  const auto out = along(written);
  if (!out) return std::nullopt;
  for (const LoadAccess& access : load_accesses(view.kernel(), map)) {
    const auto in = along(access.axes);
    const bool is_known = std::ranges::all_of(access.axes, [](const auto& stride) { return stride.has_value(); });
    if (!in || *in == *out || !is_known || access.axes[*out] == 0) continue;
    const int bits =
        std::max(bit_width(view.buffer(access.buffer).dtype), bit_width(view.buffer(map.writes[0].buffer).dtype));
    const int64_t vector = std::max(1, 32 / bits);
    const bool has_room = std::ranges::all_of(std::array{extents[*in], extents[*out]}, [&](int64_t extent) {
      return extent % vector == 0 && extent >= vector * kThreadsAcross;
    });
    return Crossing{access, *in, *out, has_room ? vector : 1};
  }
  return std::nullopt;
}

Integers with_vector(Integers factors, int64_t vector) {
  if (vector > 1) factors.push_back(vector);
  return factors;
}

bool lay_out(Builder& builder, const std::string& name, const Crossing& crossing) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const LoopIds loops = view.loops(name);
  if (loops.size() != view.block(name).axes.size()) return false;
  const auto copy =
      schedule.cache_read(name, view.buffer(crossing.access.buffer).name, view.ordinal(name, crossing.access));
  if (!copy.ok()) return false;
  const int64_t vector = crossing.vector, side = vector * kThreadsAcross;
  const auto down = schedule.split(loops[crossing.read_axis], Integers{-1, side / kThreadsDown, kThreadsDown});
  const auto across = schedule.split(loops[crossing.written_axis], with_vector({-1, kThreadsAcross}, vector));
  if (!down.ok() || !across.ok()) return false;
  LoopIds grid;
  for (size_t k = 0; k < loops.size(); ++k)
    if (k != crossing.read_axis && k != crossing.written_axis) grid.push_back(loops[k]);
  grid.push_back((*down)[0]);
  grid.push_back((*across)[0]);
  LoopIds order = grid;
  order.insert(order.end(), {(*down)[2], (*across)[1], (*down)[1]});
  order.insert(order.end(), across->begin() + 2, across->end());
  if (!tried(schedule.reorder(order))) return false;
  const auto tile = schedule.fuse(grid);
  if (!tile.ok() || !tried(schedule.bind(*tile, "block.x")) || !tried(schedule.bind((*down)[2], "thread.y")) ||
      !tried(schedule.bind((*across)[1], "thread.x")))
    return false;
  (void)tried(schedule.unroll((*down)[1]));
  if (vector > 1) (void)tried(schedule.unroll(across->back()));

  const std::string memory = view.buffer(view.block(*copy).writes[0].buffer).name;
  // Columns of the tile begin in other banks.
  if (!tried(schedule.set_scope(memory, "shared")) || !tried(schedule.storage_align(memory, 1)) ||
      !tried(schedule.compute_at(*copy, *tile)))
    return false;
  const LoopIds inner = view.inner_loops(*copy, *tile);
  const auto fused = inner.size() == 1 ? Result<LoopId>(inner[0]) : schedule.fuse(inner);
  if (!fused.ok()) return false;
  const auto parts = schedule.split(*fused, with_vector({-1, kThreadsDown, kThreadsAcross}, vector));
  if (!parts.ok() || !tried(schedule.bind((*parts)[1], "thread.y")) || !tried(schedule.bind((*parts)[2], "thread.x")))
    return false;
  (void)tried(schedule.unroll((*parts)[0]));
  if (vector > 1) (void)tried(schedule.unroll(parts->back()));
  return bytes_of(schedule, Scope::kShared) <= kSharedBytes;
}

void transpose(Builder& builder, const std::string& name) {
  auto crossing = crossing_of(builder.view, builder.view.block(name));
  if (!crossing || !builder.decide(name, "transpose_in_shared", true)) return;
  if (crossing->vector > 1)
    crossing->vector = builder.decide(name, "transpose_vector", {1, crossing->vector}, crossing->vector);
  const Schedule before = builder.schedule;
  if (!lay_out(builder, name, *crossing)) builder.schedule = before;
}

}  // namespace

Module gpu_transposes() {
  return {"gpu_transposes", [](const View& view, const std::string& name) { return view.is_alone(name); }, transpose};
}

}  // namespace isomer::kernel
