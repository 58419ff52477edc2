#include "kernel/tile.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernel/tree.h"

namespace isomer::kernel {

int64_t Tiler::reuse(const Block& reduction, const LoadAccess& access) const {
  const int64_t elements = element_count(kernel_.buffers[access.buffer].shape).constant().value_or(0);
  return points(reduction).value_or(0) / std::max<int64_t>(elements, 1);
}

int Tiler::lanes(const Block& block) const {
  int result = 64;
  for (const Write& write : block.writes)
    result = std::min(result, machine_.lanes(kernel_.buffers[write.buffer].dtype));
  return result;
}

bool Tiler::can_pack(const Block& reduction, const LoadAccess& access, int axis) const {
  if (!machine_.packing) return false;
  const auto& index = te::as<te::Load>(access.load)->index;
  if (std::find(index.begin(), index.end(), te::axis(axis)) == index.end()) return false;
  return constants_.contains(access.buffer) || (!packs_constants_only_ && reuse(reduction, access) >= kWorthCopy);
}

/// Lanes along the axis: every load moves by one element or stays, or can be packed so; the output is written in order
/// or each vector of results is the work of a long reduction.
bool Tiler::can_vectorize(const Block& reduction, const std::vector<LoadAccess>& accesses, int axis,
                          bool is_contiguous) const {
  bool moves = false;
  for (const LoadAccess& access : accesses) {
    const auto stride = access.axes[axis];
    if (!stride) return false;
    moves |= *stride != 0;
    if (*stride != 0 && *stride != 1 && !can_pack(reduction, access, axis)) return false;
  }
  int64_t length = 1;
  for (const Iterator& r : reduction.reduce) length *= te::as_constant(r.extent).value_or(0);
  return moves && (is_contiguous || length >= 32);
}

Tile Tiler::choose(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out) const {
  const std::vector<LoadAccess> plain = load_accesses(kernel_, reduction);
  const int64_t lanes = this->lanes(reduction);
  Tile best;
  if (!machine_.micro_tiles) return best;
  double best_score = 0;
  for (int axis = static_cast<int>(reduction.axes.size()); axis-- > 0;) {
    const int64_t size = extents[axis];
    const bool is_contiguous = out[axis] == 1;
    if (size < 2 || reduction.writes.size() != 1) continue;
    const bool is_regular =
        std::all_of(plain.begin(), plain.end(), [&](const LoadAccess& a) { return a.axes[axis].has_value(); });
    for (int64_t vectors = 1; vectors <= 8; ++vectors) {
      Tile tile;
      tile.vector_axis = axis;
      tile.lanes = std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(size)));
      tile.vectors = vectors;
      const int64_t there = (size + tile.lanes - 1) / tile.lanes;
      // Groups of channels: a tile lies inside of one.
      if (vectors > there || (!is_regular && size % tile.width() != 0)) continue;
      tile.accesses = is_regular ? plain : load_accesses(kernel_, reduction, axis, tile.width());
      if (!can_vectorize(reduction, tile.accesses, axis, is_contiguous)) continue;
      const double quality = choose_rows(reduction, extents, out, tile);
      const double filled = static_cast<double>(there) / static_cast<double>((there + vectors - 1) / vectors * vectors);
      const double in_lanes = static_cast<double>(size) / static_cast<double>(there * tile.lanes);
      // Stores of parts of vectors are slow without masks.
      const double whole = size % tile.width() == 0 || machine_.vectors.masks ? 1 : 0.8;
      const double score =
          quality * filled * in_lanes * static_cast<double>(tile.lanes) * (is_contiguous ? 1.5 : 1) * whole;
      if (score > best_score) {
        best = tile;
        best_score = score;
      }
    }
  }
  if (best.vector_axis >= 0) best.window = window_order(reduction, best);
  return best;
}

/// Along which axis tiles have rows, and how far apart: one along which vectors of some operand stay the same, of those
/// the one along which results lie closest together.
void Tiler::choose_row_axis(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out,
                            Tile& tile) const {
  for (int row = 0; row < static_cast<int>(reduction.axes.size()); ++row) {
    if (row == tile.vector_axis || extents[row] < 2 || !out[row]) continue;
    int64_t period = 1;
    for (const LoadAccess& access : tile.accesses)
      period = std::lcm(period, regular_stride(kernel_, reduction, access, row).first);
    bool reuses = false, regular = true;
    for (const LoadAccess& access : tile.accesses) {
      const auto stride = stride_at_period(kernel_, reduction, access, row, period);
      reuses |= stride == 0 && access.axes[tile.vector_axis] != 0;
      regular &= stride.has_value();
    }
    if (!reuses || !regular || (tile.row_axis >= 0 && *out[row] > *out[tile.row_axis])) continue;
    tile.row_axis = row;
    tile.row_period = period;
  }
}

/// A step of the reduction in a tile: two multiply-adds and two loads a cycle (a vector for each column, an element for
/// each row), a latency of four, columns that come from the second level of cache.
double cycles_of_step(int64_t rows, int64_t vectors) {
  const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
  return std::max({r * v / 2, (r + v) / 2, 4.0, 1.6 * v});
}

/// As many rows of vectors as registers hold, at least one vector and one scalar beside the
/// accumulators. The share of the peak that the tile may reach.
double Tiler::choose_rows(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out,
                          Tile& tile) const {
  choose_row_axis(reduction, extents, out, tile);
  const int64_t rows_there = tile.row_axis < 0 ? 1 : (extents[tile.row_axis] + tile.row_period - 1) / tile.row_period;
  // A small window's innermost loop is written out inside of the rows: its vectors of operands are held, or read again.
  int64_t window = 1;
  for (const Iterator& r : reduction.reduce) window *= te::as_constant(r.extent).value_or(kSmallWindow + 1);
  const bool is_small = window <= kSmallWindow && reduction.reduce.size() > 1;
  const int64_t held = is_small ? std::min<int64_t>(te::as_constant(reduction.reduce.back().extent).value_or(1), 3) : 1;
  double best = 0;
  for (int64_t rows = 1; rows <= std::min<int64_t>(kMostRows, rows_there); ++rows) {
    // Vectors that one row alone uses come from memory.
    const int64_t operands = rows == 1 && !is_small ? 1 : held * tile.vectors;
    if (!fits(machine_.vectors, rows, tile.vectors, operands)) continue;
    const double reuse = static_cast<double>(rows * tile.vectors) / static_cast<double>(rows + tile.vectors);
    const int64_t tiles = (rows_there + rows - 1) / rows;
    const double in_blocks = tiles > kMostTiles && pieces_of_at_most(tiles, kMostTiles) == 1 ? 0.9 : 1;
    const int64_t left = rows_there % rows;
    const double cycles = static_cast<double>(rows_there / rows) * cycles_of_step(rows, tile.vectors) +
                          (left > 0 ? cycles_of_step(left, tile.vectors) : 0);
    const double score = static_cast<double>(rows_there * tile.vectors) / 2 / cycles * (1 + 0.01 * reuse) * in_blocks;
    if (score > best) {
      best = score;
      tile.rows = rows;
    }
  }
  return best;
}

/// Reduction loops, outermost first: those that move an operand farthest.
std::vector<int> Tiler::window_order(const Block& reduction, const Tile& tile) const {
  std::vector<int64_t> farthest(reduction.reduce.size(), 0);
  for (const LoadAccess& access : tile.accesses) {
    // Packed operands follow whatever order there is.
    if (access.axes[tile.vector_axis] != 0 && can_pack(reduction, access, tile.vector_axis)) continue;
    for (size_t k = 0; k < farthest.size(); ++k)
      farthest[k] = std::max(farthest[k], std::abs(access.reduce[k].value_or(int64_t{1} << 40)));
  }
  std::vector<int> order(farthest.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(-farthest[a], a) < std::pair(-farthest[b], b); });
  return order;
}

int64_t pieces_of_at_most(int64_t tiles, int64_t most) {
  // More is not tried: extents may be as large as types allow.
  constexpr int64_t kMostTried = int64_t{1} << 16;
  const int64_t least = (tiles + most - 1) / most;
  for (int64_t pieces = least; pieces <= std::min(4 * (tiles + most - 1) / most, least + kMostTried); ++pieces)
    if (tiles % pieces == 0) return pieces;
  return 1;
}

}  // namespace isomer::kernel
