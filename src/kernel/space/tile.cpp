#include "kernel/space/tile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "graph/te/integer.h"
#include "graph/te/simplify.h"
#include "kernel/padding.h"

namespace isomer::kernel {
namespace {

/// Instructions that one thread has issued a cycle while another runs on the same core, as on most rented machines:
/// half of six to eight. Of those that count, a step has half of one, as several are written out.
constexpr double kIssued = 3.5, kCounting = 0.5;

/// A step of the reduction in a tile: two multiply-adds and two loads a cycle, a latency of four, columns that come
/// from the second level of cache.
double cycles_of_step(int64_t rows, int64_t vectors, double loads, const Machine& machine) {
  const auto r = static_cast<double>(rows), v = static_cast<double>(vectors);
  return std::max(
      {r * v / 2, loads / 2, 4.0, machine.caches.cycles_of_vector * v, (r * v + loads + kCounting) / kIssued});
}

/// The last tile of rows is code of its own where it has fewer, and what comes next does not come ahead then.
constexpr double kPeeled = 0.99;

/// So much better must a tile of narrower vectors be by its score.
constexpr double kWorthNarrower = 1.2;

constexpr int64_t kLineBytes = 64;

/// Cycles that it takes to pack an element of an operand that is no constant.
constexpr double kCyclesOfPacking = 0.6;

/// An index of an operand, from row to row and by step of the reduction, as far as steps differ: offset + stride * row.
struct Steps {
  int64_t stride = 0;
  Integers offsets;
};

/// Windows of more steps are not looked at one by one.
constexpr int64_t kMostSteps = 64;

/// Nothing where the index is not affine in rows, or other axes move it too.
std::optional<Steps> steps_of(const Expr& index, const Block& block, int row_axis) {
  std::vector<int> moving;  // iterators of the reduction
  bool has_row = false, has_others = false;
  te::for_each_node(index, [&](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    if (!variable) return;
    if (variable->kind == te::VarKind::kReduce) {
      if (std::ranges::count(moving, variable->index) == 0) moving.push_back(variable->index);
    } else {
      (variable->index == row_axis ? has_row : has_others) = true;
    }
  });
  int64_t count = 1;
  for (const int r : moving)
    count *= std::min(te::as_constant(block.reduce[r].extent).value_or(kMostSteps), kMostSteps);
  if (!has_row || has_others || count > kMostSteps) return std::nullopt;
  const auto value = [&](int64_t step, int64_t row) {
    const te::Interval at = te::bounds(index, [&](const Expr& leaf) -> te::Interval {
      const auto* variable = te::as<te::Var>(leaf);
      if (!variable || variable->kind != te::VarKind::kReduce) return {row, row};
      int64_t left = step;
      for (const int r : moving) {
        const int64_t extent = *te::as_constant(block.reduce[r].extent);
        if (r == variable->index) return {left % extent, left % extent};
        left /= extent;
      }
      return {};
    });
    return at.low && at.low == at.high ? at.low : std::nullopt;
  };
  Steps steps;
  for (int64_t step = 0; step < count; ++step) {
    const auto first = value(step, 0), second = value(step, 1), third = value(step, 2);
    if (!first || !second || !third || *third - *second != *second - *first || *second <= *first) return std::nullopt;
    steps.stride = *second - *first;
    steps.offsets.push_back(*first);
  }
  return steps;
}

/// Tiles that a reduction may have, and how good they are.
class Tiler {
 public:
  Tiler(const View& view, const Tiled& reduction)
      : view_(view),
        reduction_(reduction),
        block_(view.block(reduction.name)),
        plain_(load_accesses(view.kernel(), block_)) {}

  /// With its accesses, without rows; nothing where lanes cannot run so.
  std::optional<Tile> columns(int axis, int64_t lanes, int64_t vectors) const;
  /// The axes along which tiles may have rows: those along which vectors of some operand stay the same. The best one is
  /// that along which results lie closest together: first.
  std::vector<int> row_axes(const Tile& tile) const;
  void set_row_axis(Tile& tile, int axis) const;
  /// The numbers of rows whose vectors registers hold, at least one vector and one scalar beside the accumulators; with
  /// the share of the peak that the tile may reach.
  std::vector<std::pair<int64_t, double>> rows(const Tile& tile) const;
  /// Whether the reduction is small enough to be written out inside of the tile's rows.
  bool has_small_window(const Tile& tile) const;
  /// Of the tile with the best rows, in results a cycle.
  double score(Tile tile) const;
  /// Reduction loops, outermost first: those that move an operand farthest.
  std::vector<int> window(const Tile& tile) const;
  /// Where the window lies in a padded copy: by step, as far as steps differ along the rows, the first and the last row
  /// that reach more than padding (first > last: none). Empty: no step is skipped.
  std::vector<std::pair<int64_t, int64_t>> rows_inside(const Tile& tile) const;
  /// Of the time, where operands are packed first.
  double share_beside_packing(const Tile& tile) const;
  /// Of the speed, where rows lie so far apart that their lines share one set of the first cache (1,024 channels of
  /// float32 in windows): the next vectors are in lines that come along, and are gone when the next tile asks for them.
  double share_of_crowded(const Tile& tile) const;
  int most_lanes() const { return view_.lanes(block_); }
  const Block& block() const { return block_; }

 private:
  bool can_vectorize(const Tile& tile, bool is_contiguous) const;
  bool can_shuffle(const LoadAccess& access, const Tile& tile) const;
  /// From one row to the next along the axis; nothing where operands move irregularly, or none of them is shared.
  std::optional<int64_t> row_period(const Tile& tile, int axis) const;
  /// A small window that slides along rows (pools, filters of single channels): a row reads the vectors that the next
  /// one reads `ahead` steps of an iterator earlier.
  struct Slide {
    int reduce = 0;
    int64_t ahead = 1, steps = 1;
  };
  std::optional<Slide> slide(const LoadAccess& access, const Tile& tile, int axis) const;
  std::optional<Slide> slide(const Tile& tile, int axis) const;  ///< of small windows, written out
  /// Of vectors and single elements, that a step of the reduction takes in a tile of so many rows, on average.
  double loads(const Tile& tile, int64_t rows, const std::optional<Slide>& sliding) const;
  const std::optional<PaddedCopy>& padded(int buffer) const;

  const View& view_;
  const Tiled& reduction_;
  Block block_;
  std::vector<LoadAccess> plain_;
  mutable std::map<int, std::optional<PaddedCopy>> padded_;  ///< by buffer; what was asked for
};

/// Whether lanes find their elements in a few vectors side by side, the same ones in each tile: channels of narrow
/// groups.
bool Tiler::can_shuffle(const LoadAccess& access, const Tile& tile) const {
  const auto stride = access.axes[tile.vector_axis];
  if (reduction_.extents[tile.vector_axis] % tile.width() != 0 || (stride && std::abs(*stride) > kMostShuffled))
    return false;
  const auto offsets = lane_offsets(view_.kernel(), block_, access, tile.vector_axis, tile.width());
  if (!offsets) return false;
  for (auto first = offsets->begin(); first != offsets->end(); first += tile.lanes) {
    const auto [least, most] = std::minmax_element(first, first + tile.lanes);
    if (*most - *least >= kMostShuffled * tile.lanes) return false;
  }
  return true;
}

/// Lanes along the axis: every load moves by one element or stays, or can be packed so, or is shuffled; the output is
/// written in order or each vector of results is the work of a long reduction.
bool Tiler::can_vectorize(const Tile& tile, bool is_contiguous) const {
  const int axis = tile.vector_axis;
  const bool weighs = std::any_of(tile.accesses.begin(), tile.accesses.end(), [&](const LoadAccess& access) {
    return view_.is_constant(access.buffer) && access.axes[axis] != 0;
  });
  bool moves = false;
  for (const LoadAccess& access : tile.accesses) {
    const auto stride = access.axes[axis];
    moves |= stride != 0;
    if (stride != 0 && stride != 1 && !can_pack(view_, reduction_, access, axis, tile.width()) &&
        !(weighs && can_shuffle(access, tile)))
      return false;
  }
  int64_t length = 1;
  for (const Iterator& r : block_.reduce) length *= te::as_constant(r.extent).value_or(0);
  return moves && (is_contiguous || length >= 32);
}

std::optional<Tile> Tiler::columns(int axis, int64_t lanes, int64_t vectors) const {
  const int64_t size = reduction_.extents[axis];
  if (size < 2 || block_.writes.size() != 1) return std::nullopt;
  const bool is_regular =
      std::all_of(plain_.begin(), plain_.end(), [&](const LoadAccess& a) { return a.axes[axis].has_value(); });
  Tile tile;
  tile.vector_axis = axis;
  tile.lanes = std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(size)));
  tile.vectors = vectors;
  const int64_t there = (size + tile.lanes - 1) / tile.lanes;
  // Groups of channels: a tile lies inside of one.
  if (vectors > there || (!is_regular && size % tile.width() != 0)) return std::nullopt;
  tile.accesses = is_regular ? plain_ : load_accesses(view_.kernel(), block_, axis, tile.width());
  if (!can_vectorize(tile, reduction_.out[axis] == 1)) return std::nullopt;
  return tile;
}

std::optional<int64_t> Tiler::row_period(const Tile& tile, int axis) const {
  int64_t period = 1;
  for (const LoadAccess& access : tile.accesses)
    period = std::lcm(period, regular_stride(view_.kernel(), block_, access, axis).first);
  bool reuses = false, regular = true;
  for (const LoadAccess& access : tile.accesses) {
    const auto stride = stride_at_period(view_.kernel(), block_, access, axis, period);
    reuses |= stride == 0 && access.axes[tile.vector_axis] != 0;
    regular &= stride.has_value();
  }
  return regular && (reuses || (period == 1 && slide(tile, axis))) ? std::optional(period) : std::nullopt;
}

std::optional<Tiler::Slide> Tiler::slide(const LoadAccess& access, const Tile& tile, int axis) const {
  const int64_t row = access.axes[axis].value_or(0);
  if (row == 0 || axis == tile.vector_axis || access.axes[tile.vector_axis] == 0) return std::nullopt;
  for (size_t k = 0; k < access.reduce.size(); ++k) {
    const int64_t step = access.reduce[k].value_or(0), steps = te::as_constant(block_.reduce[k].extent).value_or(0);
    if (step != 0 && row % step == 0 && row / step > 0 && row / step < steps)
      return Slide{static_cast<int>(k), row / step, steps};
  }
  return std::nullopt;
}

bool Tiler::has_small_window(const Tile& tile) const {
  int64_t window = 1;
  for (const Iterator& r : block_.reduce) window *= te::as_constant(r.extent).value_or(kSmallWindowOfOne + 1);
  const auto slides = [&](const LoadAccess& access) {
    for (int axis = 0; axis < static_cast<int>(access.axes.size()); ++axis)
      if (slide(access, tile, axis)) return true;
    return access.axes[tile.vector_axis] == 0;
  };
  return window <= (std::ranges::all_of(tile.accesses, slides) ? kSmallWindowOfOne : kSmallWindow);
}

std::optional<Tiler::Slide> Tiler::slide(const Tile& tile, int axis) const {
  if (axis < 0 || block_.reduce.size() < 2 || !has_small_window(tile)) return std::nullopt;
  for (const LoadAccess& access : tile.accesses)
    if (const auto result = slide(access, tile, axis)) return result;
  return std::nullopt;
}

double Tiler::loads(const Tile& tile, int64_t rows, const std::optional<Slide>& sliding) const {
  const auto r = static_cast<double>(rows), v = static_cast<double>(tile.vectors);
  const bool shares = std::ranges::any_of(tile.accesses, [&](const LoadAccess& access) {
    return access.axes[tile.vector_axis] != 0 && (tile.row_axis < 0 || access.axes[tile.row_axis] == 0);
  });
  if (shares || !sliding) return r + v;
  const auto ahead = static_cast<double>(sliding->ahead), steps = static_cast<double>(sliding->steps);
  // Lines of the cache of which a tile reads a part are read for its neighbour, too.
  const auto in_line = static_cast<double>(kLineBytes / view_.lane_bytes(block_)),
             width = static_cast<double>(tile.width());
  const double lines =
      reduction_.extents[tile.vector_axis] > tile.width() ? std::ceil(width / in_line) * in_line / width : 1;
  return 1 + v * lines * ((r - 1) * ahead + steps) / steps;
}

std::vector<int> Tiler::row_axes(const Tile& tile) const {
  std::vector<int> result;
  for (int row = 0; row < static_cast<int>(block_.axes.size()); ++row) {
    if (row == tile.vector_axis || reduction_.extents[row] < 2 || !reduction_.out[row]) continue;
    if (const auto period = row_period(tile, row); period && reduction_.extents[row] >= 2 * *period)
      result.push_back(row);
  }
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    return *reduction_.out[a] != *reduction_.out[b] ? *reduction_.out[a] < *reduction_.out[b] : a > b;
  });
  return result;
}

void Tiler::set_row_axis(Tile& tile, int axis) const {
  tile.row_axis = axis;
  tile.row_period = axis < 0 ? 1 : *row_period(tile, axis);
}

const std::optional<PaddedCopy>& Tiler::padded(int buffer) const {
  const auto [place, is_new] = padded_.try_emplace(buffer);
  if (is_new) place->second = padded_copy(view_.kernel(), buffer);
  return place->second;
}

std::vector<std::pair<int64_t, int64_t>> Tiler::rows_inside(const Tile& tile) const {
  std::vector<std::pair<int64_t, int64_t>> result;
  if (tile.row_axis < 0 || tile.row_period != 1) return result;
  for (const LoadAccess& access : tile.accesses) {
    if (access.axes[tile.vector_axis] != 0) continue;
    const std::optional<PaddedCopy>& copy = padded(access.buffer);
    const auto& index = te::as<te::Load>(access.load)->index;
    for (size_t k = 0; copy && k < index.size(); ++k) {
      const auto& [low, high] = copy->interior[k];
      const auto steps = low && high ? steps_of(index[k], block_, tile.row_axis) : std::nullopt;
      if (!steps) continue;
      // low <= offset + stride * row <= high
      for (const int64_t offset : steps->offsets)
        result.emplace_back(
            std::max<int64_t>(te::ceil_div(*low - offset, steps->stride), 0),
            std::min(te::floor_div(*high - offset, steps->stride), reduction_.extents[tile.row_axis] - 1));
      return result;
    }
  }
  return result;
}

/// Of all tiles of so many rows and all steps, the share that is not skipped.
double share_inside(const std::vector<std::pair<int64_t, int64_t>>& rows_inside, int64_t rows, int64_t tiles) {
  if (rows_inside.empty()) return 1;
  int64_t inside = 0;
  for (const auto& [first, last] : rows_inside) inside += first <= last ? last / rows - first / rows + 1 : 0;
  return static_cast<double>(std::max<int64_t>(inside, 1)) /
         static_cast<double>(tiles * static_cast<int64_t>(rows_inside.size()));
}

std::vector<std::pair<int64_t, double>> Tiler::rows(const Tile& tile) const {
  const int64_t rows_there =
      tile.row_axis < 0 ? 1 : (reduction_.extents[tile.row_axis] + tile.row_period - 1) / tile.row_period;
  // A small window's innermost loop is written out inside of the rows: its vectors of operands are held, or read again.
  const bool is_small = has_small_window(tile) && block_.reduce.size() > 1;
  // Tiles of a padded copy that lie in the padding are skipped.
  const auto inside = is_small ? std::vector<std::pair<int64_t, int64_t>>() : rows_inside(tile);
  const auto sliding = slide(tile, tile.row_axis);
  const Iterator& last = sliding ? block_.reduce[sliding->reduce] : block_.reduce.back();
  const int64_t held = is_small ? std::min<int64_t>(te::as_constant(last.extent).value_or(1), 3) : 1;
  std::vector<std::pair<int64_t, double>> result;
  for (int64_t rows = 1; rows <= std::min<int64_t>(kMostRows, rows_there); ++rows) {
    // Vectors that one row alone uses come from memory.
    const int64_t operands = rows == 1 && !is_small ? 1 : held * tile.vectors;
    if (!fits(view_.machine().vectors, rows, tile.vectors, operands)) continue;
    const double reuse = static_cast<double>(rows * tile.vectors) / static_cast<double>(rows + tile.vectors);
    const int64_t tiles = (rows_there + rows - 1) / rows;
    const double in_blocks = tiles > kMostTiles && pieces_of_at_most(tiles, kMostTiles) == 1 ? 0.9 : 1;
    const int64_t left = rows_there % rows;
    const auto cycles_of = [&](int64_t count) {
      return cycles_of_step(count, tile.vectors, loads(tile, count, sliding), view_.machine());
    };
    const double cycles = static_cast<double>(rows_there / rows) * cycles_of(rows) + (left > 0 ? cycles_of(left) : 0);
    const double skipping = 1 / share_inside(inside, rows, tiles);
    result.emplace_back(rows, static_cast<double>(rows_there * tile.vectors) / 2 / cycles * (1 + 0.01 * reuse) *
                                  in_blocks * (left > 0 ? kPeeled : 1) * skipping);
  }
  return result;
}

/// The first of the largest; nullptr where there is none above zero.
template <class List>
auto best_of(const List& scored) -> decltype(scored.data()) {
  decltype(scored.data()) best = nullptr;
  for (const auto& each : scored)
    if (each.second > (best ? best->second : 0)) best = &each;
  return best;
}

double Tiler::score(Tile tile) const {
  const std::vector<int> axes = row_axes(tile);
  set_row_axis(tile, axes.empty() ? -1 : axes.front());
  const auto rows = this->rows(tile);
  const auto* best = best_of(rows);
  if (!best) return 0;
  const int64_t size = reduction_.extents[tile.vector_axis], there = (size + tile.lanes - 1) / tile.lanes;
  const double filled =
      static_cast<double>(there) / static_cast<double>((there + tile.vectors - 1) / tile.vectors * tile.vectors);
  const double in_lanes = static_cast<double>(size) / static_cast<double>(there * tile.lanes);
  // Stores of parts of vectors are slow without masks; only the last tile has some.
  const auto tiles = static_cast<double>((there + tile.vectors - 1) / tile.vectors);
  const double whole = size % tile.lanes == 0 || view_.machine().vectors.masks ? 1 : 1 - 0.2 / tiles;
  const bool is_contiguous = reduction_.out[tile.vector_axis] == 1;
  if (reduction_.is_in_rows && !is_contiguous) return 0;
  return best->second * filled * in_lanes * static_cast<double>(tile.lanes) * (is_contiguous ? 1.5 : 1) * whole *
         share_beside_packing(tile) * share_of_crowded(tile);
}

double Tiler::share_of_crowded(const Tile& tile) const {
  const auto crowds = [&](const LoadAccess& access) {
    const int64_t pitch = access.axes[tile.row_axis].value_or(0) * bit_width(access.load.dtype()) / 8;
    return access.axes[tile.vector_axis] == 1 && pitch != 0 && pitch % kSharedSet == 0;
  };
  if (tile.row_axis < 0 || std::ranges::none_of(tile.accesses, crowds)) return 1;
  return std::min(1.0, 0.4 + 0.15 * static_cast<double>(tile.vectors));
}

double Tiler::share_beside_packing(const Tile& tile) const {
  double result = 1;
  for (const LoadAccess& access : tile.accesses) {
    const auto stride = access.axes[tile.vector_axis];
    if (stride == 0 || stride == 1 || view_.is_constant(access.buffer)) continue;
    const double cycles = static_cast<double>(view_.reuse(block_, access)) / static_cast<double>(2 * tile.lanes);
    result *= cycles / (cycles + kCyclesOfPacking);
  }
  return result;
}

std::vector<int> Tiler::window(const Tile& tile) const {
  std::vector<int64_t> farthest(block_.reduce.size(), 0);
  for (const LoadAccess& access : tile.accesses) {
    // Packed operands follow whatever order there is.
    if (access.axes[tile.vector_axis] != 0 && can_pack(view_, reduction_, access, tile.vector_axis, tile.width()))
      continue;
    for (size_t k = 0; k < farthest.size(); ++k)
      farthest[k] = std::max(farthest[k], std::abs(access.reduce[k].value_or(int64_t{1} << 40)));
  }
  std::vector<int> order(farthest.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(-farthest[a], a) < std::pair(-farthest[b], b); });
  if (const auto sliding = slide(tile, tile.row_axis)) {
    std::erase(order, sliding->reduce);
    order.push_back(sliding->reduce);
  }
  return order;
}

template <class List>
std::vector<int64_t> firsts(const List& list) {
  std::vector<int64_t> result;
  for (const auto& each : list) result.push_back(each.first);
  return result;
}

}  // namespace

std::optional<PackedDim> packed_dim(const LoadAccess& access, int axis) {
  const auto& index = te::as<te::Load>(access.load)->index;
  for (size_t k = 0; k < index.size(); ++k)
    if (const auto offset = te::as_constant(te::simplify_index(index[k] - te::axis(axis))))
      return PackedDim{k, *offset};
  return std::nullopt;
}

bool can_pack(const View& view, const Tiled& reduction, const LoadAccess& access, int axis, int64_t width) {
  const auto dim = packed_dim(access, axis);
  if (!view.machine().packing || !dim || !view.is_made_before(access.buffer, reduction.name)) return false;
  return view.is_constant(access.buffer) || (dim->offset % width == 0 && !reduction.is_repeated &&
                                             view.reuse(view.block(reduction.name), access) >= kWorthCopy);
}

Tile choose_tile(Builder& builder, const Tiled& reduction) {
  if (!builder.machine().micro_tiles) return {};
  const Tiler tiler(builder.view, reduction);
  const auto rank = static_cast<int>(reduction.extents.size());
  // Half a vector's lanes: narrower vectors, where the machine has several widths.
  const int64_t most = tiler.most_lanes();
  std::vector<int64_t> lane_counts = {most};
  if (most > 4) lane_counts.push_back(most / 2);
  std::map<std::pair<int, int64_t>, std::vector<std::pair<int64_t, double>>> known;
  const auto columns_of = [&](int axis, int64_t lanes) -> const auto& {  // numbers of vectors
    const auto [place, is_new] = known.try_emplace({axis, lanes});
    for (int64_t vectors = 1; is_new && vectors <= kMostVectors; ++vectors)
      if (const auto tile = tiler.columns(axis, lanes, vectors))
        if (const double score = tiler.score(*tile); score > 0) place->second.emplace_back(vectors, score);
    return place->second;
  };
  std::vector<std::pair<int64_t, double>> axes;
  for (int axis = rank; axis-- > 0;)
    for (const int64_t lanes : lane_counts)
      if (const auto& scored = columns_of(axis, lanes); !scored.empty()) {
        axes.emplace_back(axis, best_of(scored)->second);
        break;
      }
  if (axes.empty()) return {};
  const std::string& name = reduction.name;
  std::vector<int64_t> candidates = firsts(axes);
  candidates.push_back(-1);
  const auto axis = static_cast<int>(builder.decide(name, "vector_axis", candidates, best_of(axes)->first));
  if (axis < 0) return {};
  std::erase_if(lane_counts, [&](int64_t lanes) { return columns_of(axis, lanes).empty(); });
  // Narrower vectors, where they are filled better and the widest take twice the time.
  const auto& machine = builder.machine();
  const auto score_of = [&](int64_t lanes) {
    const bool is_wide = machine.vectors.bits == 512 && lanes == most;
    return best_of(columns_of(axis, lanes))->second * (is_wide ? machine.wide_multiply_adds : 2);
  };
  const int64_t widest = lane_counts.front(), narrowest = lane_counts.back();
  const int64_t preferred = score_of(narrowest) > kWorthNarrower * score_of(widest) ? narrowest : widest;
  const int64_t lanes = builder.decide(name, "lanes", lane_counts, preferred);
  const auto& scored = columns_of(axis, lanes);
  Tile tile = *tiler.columns(axis, lanes, builder.decide(name, "vectors", firsts(scored), best_of(scored)->first));
  const std::vector<int> row_axes = tiler.row_axes(tile);
  candidates.assign(row_axes.begin(), row_axes.end());
  candidates.push_back(-1);
  tiler.set_row_axis(tile, static_cast<int>(builder.decide(name, "row_axis", candidates, candidates.front())));
  const auto rows = tiler.rows(tile);
  if (!best_of(rows)) return {};
  tile.rows = builder.decide(name, "rows", firsts(rows), best_of(rows)->first);
  tile.window = tiler.window(tile);
  tile.is_small = tiler.has_small_window(tile);
  return tile;
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
