#include "kernel/space/tiles.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "graph/te/integer.h"
#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Packed operands of a tile that stay in the second level of cache; results that do in the first while blocks of the
/// reduction pass.
int64_t panel_bytes(const Machine& machine) { return machine.caches.second * 5 / 16; }
int64_t held_bytes(const Machine& machine) { return machine.caches.first / 2; }
/// An epilogue of more operations is a loop over rows, so that what it computes with finds registers.
constexpr int kLongEpilogue = 9;
/// Iterations of a loop whose first and last are code of their own, at least.
constexpr int64_t kLeastBetweenBorders = 6;
/// Rows at most that are computed with faster than packed operands come from memory.
constexpr int64_t kFewRows = 64;
/// Steps of an innermost loop, at least.
constexpr int64_t kFewSteps = 16;
/// Multiply-adds of vectors that stand in the code of a small window's tile, where it stands several times.
constexpr int64_t kMostWrittenOut = 2048;
/// What comes from memory at once, at most.
constexpr int64_t kStreamed = 96 << 10;
/// Constant operands that stay in the second level of cache with all their tiles.
int64_t staying_bytes(const Machine& machine) { return machine.caches.second / 2; }

/// The part of their time that threads are busy with so many equal shares.
double busy(int64_t shares, int64_t threads) {
  if (shares >= 8 * threads) return 1;
  return static_cast<double>(shares) / static_cast<double>(te::ceil_div(shares, threads) * threads);
}

/// Into how many pieces, `least` or more, tiles of rows are cut so that threads get equal shares of `outer` times them,
/// or as equal ones as there are.
int64_t pieces_of(int64_t tiles, int64_t outer, int64_t threads, int64_t least = 1) {
  int64_t best = least;
  for (int64_t pieces = least + 1; pieces <= std::min(tiles, 64 * threads) && busy(outer * best, threads) < 1; ++pieces)
    if (tiles % pieces == 0 && busy(outer * pieces, threads) > busy(outer * best, threads)) best = pieces;
  return best;
}

/// Some of 1 to `most`, with `one` among them.
std::vector<int64_t> some_up_to(int64_t most, int64_t one) {
  std::vector<int64_t> result;
  for (int64_t each = 1; each <= most; each += std::max<int64_t>(1, each / 4)) result.push_back(each);
  if (std::find(result.begin(), result.end(), one) == result.end()) result.push_back(one);
  return result;
}

/// axes that move packed operands, tiles of vectors (where all of them stay in cache: behind the next), other axes,
/// tiles of rows | reduction | rows unrolled, vectors unrolled, lanes
class TileLayout {
 public:
  TileLayout(Builder& builder, const std::string& name, const Tile& tile)
      : builder_(builder),
        view_(builder.view),
        schedule_(builder.schedule),
        name_(name),
        tile_(tile),
        reduction_(view_.block(name)),
        loops_(view_.loops(name)) {}

  bool apply(int64_t work, LoopIds* outer) {
    const auto across = schedule_.split(loops_[tile_.vector_axis], Integers{-1, tile_.vectors, tile_.lanes});
    if (!across.ok()) return false;
    across_ = *across;
    sort_axes();
    if (tile_.row_axis >= 0) {
      split_rows();
    } else {
      outer_.insert(outer_.end(), image_.begin(), image_.end());
    }
    // Loops that threads may share; the last tile of vectors stands apart where it is not full.
    peels_part_ = has_part() && builder_.decide(name_, "peel_columns", stays_ || builder_.machine().threads < 2);
    size_t shared = outer_.size() - (stays_ && has_part() ? 1 : 0);
    if (!reorder() || !place_store()) return false;
    lay_out_reduction();
    if (!tensorize(builder_, inner_)) return false;
    skip_and_unroll();
    store_tile();
    if (blocks_.empty()) prefetch();
    if (peels_ || skips_) peel_rows("last");
    if (skips_) peel_rows("first");
    if (skips_ && tile_.row_axis < 0) shared = peel_borders(shared);
    if (peels_part_) (void)tried(schedule_.peel(across_[0], "last"));
    const LoopIds to_share(outer_.begin(), outer_.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(shared, 1)));
    if (outer)
      *outer = to_share;
    else
      parallelize(builder_, name_, to_share, work);
    ask_ahead();
    return true;
  }

 private:
  int64_t axis_extent(int axis) const { return *te::as_constant(reduction_.axes[axis].extent); }

  /// Whether the last of several tiles of vectors is not full.
  bool has_part() const { return axis_extent(tile_.vector_axis) % tile_.width() != 0 && view_.extent(across_[0]) > 1; }

  void sort_axes() {
    const size_t rank = reduction_.axes.size();
    for (size_t k = 0; k < rank; ++k) {
      if (static_cast<int>(k) == tile_.vector_axis || static_cast<int>(k) == tile_.row_axis) continue;
      const bool moves = std::any_of(tile_.accesses.begin(), tile_.accesses.end(), [&](const LoadAccess& a) {
        return a.axes[tile_.vector_axis] != 0 && a.axes[k].value_or(0) != 0;
      });
      (moves ? outer_ : image_).push_back(loops_[k]);
    }
    for (const int k : tile_.window) {
      window_.push_back(loops_[rank + static_cast<size_t>(k)]);
      window_size_ *= view_.extent(window_.back());
    }
    if (!tile_.is_small) join_steps();
    outer_.push_back(across_[0]);
  }

  /// An innermost loop of few steps becomes one with those around it, as far as they run through memory as one does
  /// (three channels of the pixels beside each other).
  void join_steps() {
    const auto next = [&](size_t k, int64_t steps) {  // whether a step of window_[k] is so many of the innermost
      return std::all_of(tile_.accesses.begin(), tile_.accesses.end(), [&](const LoadAccess& access) {
        const auto& inner = access.reduce[tile_.window.back()];
        const auto& outer = access.reduce[tile_.window[k]];
        return access.axes[tile_.vector_axis] != 0 || (inner && outer && *outer == *inner * steps);
      });
    };
    int64_t steps = view_.extent(window_.back());
    size_t first = window_.size() - 1;
    while (first > 0 && steps < kFewSteps && next(first - 1, steps)) steps *= view_.extent(window_[--first]);
    if (first + 1 == window_.size() || !builder_.decide(name_, "join_steps", !pads_lanes())) return;
    if (!schedule_.reorder(window_).ok()) return;
    const auto joined = schedule_.fuse({window_.begin() + static_cast<std::ptrdiff_t>(first), window_.end()});
    if (!joined.ok()) return;
    window_.resize(first);
    window_.push_back(*joined);
  }

  /// Whether a padding decides which lanes take part in a step: what it says is worked out once, by steps of a row of
  /// the window that are written out.
  bool pads_lanes() const {
    const Expr along = te::axis(tile_.vector_axis);
    return te::any_node(reduction_.bodies[0], [&](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      return select && te::any_node(select->condition, [&](const Expr& part) { return part == along; });
    });
  }

  /// Blocks of the reduction, of the rows; what lies inside of what.
  void split_rows() {
    const int64_t rows = (axis_extent(tile_.row_axis) + tile_.row_period - 1) / tile_.row_period;
    const int64_t tiles = (rows + tile_.rows - 1) / tile_.rows;
    peels_ = axis_extent(tile_.row_axis) % (tile_.rows * tile_.row_period) != 0 && tiles > 1;
    const int64_t element = view_.lane_bytes(reduction_), line = tile_.width() * element;
    const int64_t most = held_bytes(builder_.machine()) / line / tile_.rows;  // tiles of results that stay in cache
    if (tile_.row_period == 1 && tiles * view_.iterations(image_) > 1 && most > 1) {
      const int64_t fitting = panel_bytes(builder_.machine());
      const std::vector<int64_t> candidates = {0, fitting, fitting / 2, fitting / 4, fitting / 8};
      const int64_t images = view_.iterations(image_);
      const bool holds = tiles * images <= most;
      const int64_t panel =
          builder_.decide(name_, "panel_bytes", candidates, preferred_panel(candidates, rows * images, line, holds));
      if (panel >= line) blocks_ = block_window(panel / line);
    }
    const int64_t columns = axis_extent(tile_.vector_axis);
    stays_ = blocks_.empty() &&
             builder_.decide(name_, "columns_inside", operand_bytes() <= staying_bytes(builder_.machine()));
    const int64_t threads = builder_.machine().threads;
    int64_t pieces = 1;
    if (stays_) {
      const int64_t fitting = row_block_bytes(builder_.machine()) / ((columns + window_size_) * element) / tile_.rows;
      const int64_t shared = view_.iterations(outer_) / (has_part() ? view_.extent(across_[0]) : 1);
      pieces = pieces_of(tiles, shared * view_.iterations(image_), threads,
                         pieces_of_at_most(tiles, std::clamp<int64_t>(fitting, 1, kMostTiles)));
    } else if (!blocks_.empty() && tiles > most) {
      pieces = pieces_of_at_most(tiles, most);
    } else {
      pieces = pieces_of(tiles, view_.iterations(outer_) * view_.iterations(image_), threads);
    }
    pieces = builder_.decide(name_, "pieces", some_up_to(std::min(tiles, kMostTiles), pieces), pieces);
    int64_t results = tiles;
    while (!blocks_.empty() && pieces == 1 && !image_.empty() && results * view_.extent(image_.back()) <= most) {
      const int64_t shares = view_.iterations(outer_) * view_.iterations(image_);
      if (busy(shares / view_.extent(image_.back()), threads) < busy(shares, threads)) break;
      results *= view_.extent(image_.back());
      held_.insert(held_.begin(), image_.back());
      image_.pop_back();
    }
    Integers factors = pieces > 1 ? Integers{pieces, -1, tile_.rows} : Integers{-1, tile_.rows};
    if (tile_.row_period > 1) factors.push_back(tile_.row_period);
    LoopIds down = *schedule_.split(loops_[tile_.row_axis], factors);
    if (tile_.row_period > 1) {
      phases_ = {down.back()};
      down.pop_back();
    }
    if (stays_) outer_.pop_back();
    outer_.insert(outer_.end(), image_.begin(), image_.end());
    if (pieces > 1) outer_.push_back(down[0]);
    if (stays_) outer_.push_back(across_[0]);
    held_.push_back(down[down.size() - 2]);
    inner_.push_back(down.back());
  }

  /// Of what moves with columns: all that an image takes, of every phase.
  int64_t operand_bytes() const {
    int64_t result = 0;
    for (const LoadAccess& access : tile_.accesses) {
      if (access.axes[tile_.vector_axis] == 0) continue;
      int64_t elements = element_count(view_.buffer(access.buffer).shape).constant().value_or(0);
      for (int axis = 0; axis < static_cast<int>(access.axes.size()); ++axis)
        if (axis != tile_.vector_axis && access.axes[axis].value_or(0) != 0)
          elements /= std::max<int64_t>(axis_extent(axis), 1);
      result += elements * bit_width(access.load.dtype()) / 8;
    }
    return result;
  }

  /// Of `candidates` (0: all of the reduction; then from large to small), which panel of packed operands for so many
  /// rows, whose results stay in cache while panels pass or not.
  int64_t preferred_panel(const std::vector<int64_t>& candidates, int64_t rows, int64_t line, bool holds) const {
    const Machine& machine = builder_.machine();
    const int64_t all = window_size_ * line;
    const int64_t element = view_.lane_bytes(reduction_);
    // What comes from memory for few rows: the next panel comes while this one is computed with, in small steps.
    const bool streams = axis_extent(tile_.vector_axis) * window_size_ * element > machine.caches.second;
    if (streams && rows <= kFewRows && all > kStreamed)
      return *std::find_if(candidates.begin() + 1, candidates.end() - 1,
                           [](int64_t each) { return each <= kStreamed; });  // the smallest where all are larger
    // Two panels, and of the rows what every panel is multiplied with again.
    if (const int64_t shared = holds ? shared_bytes(rows) : 0; shared > 0)
      for (const int64_t candidate : candidates) {
        const auto share = static_cast<double>(candidate == 0 ? all : candidate) / static_cast<double>(all);
        if (share <= 1 && share * static_cast<double>(2 * all + shared) <= static_cast<double>(staying_bytes(machine)))
          return candidate;
      }
    return all > panel_bytes(machine) ? panel_bytes(machine) : 0;
  }

  /// Windows that overlap read the same so often in one pass that it does not matter where the first time comes from.
  int64_t shared_bytes(int64_t rows) const {
    const int64_t read = rows * window_size_;
    int64_t result = 0;
    for (const LoadAccess& access : tile_.accesses)
      if (access.axes[tile_.vector_axis] == 0 &&
          element_count(view_.buffer(access.buffer).shape).constant().value_or(0) >= read)
        result += read * bit_width(access.load.dtype()) / 8;
    return result;
  }

  /// Takes loops off the reduction's front until what is left has at most `steps` steps; cuts one in two where none
  /// fits.
  LoopIds block_window(int64_t steps) {
    int64_t count = 1;
    size_t first = window_.size();
    while (first > 0 && count * view_.extent(window_[first - 1]) <= steps) count *= view_.extent(window_[--first]);
    LoopIds blocks(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(first));
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(first));
    if (!window_.empty() || blocks.empty()) return blocks;
    const int64_t length = view_.extent(blocks.back());
    int64_t step = std::min(steps, length);
    while (step > 1 && length % step != 0) --step;
    if (2 * step < std::min<int64_t>(steps, 64)) {  // no factor of use
      window_.swap(blocks);
      return {};
    }
    const LoopIds parts = *schedule_.split(blocks.back(), Integers{-1, step});
    blocks.back() = parts[0];
    window_ = {parts[1]};
    return blocks;
  }

  bool reorder() {
    inner_.insert(inner_.end(), across_.begin() + 1, across_.end());
    if (blocks_.empty()) outer_.insert(outer_.end(), held_.begin(), held_.end());
    // Small windows: neighbours in a row share what the innermost loop reads.
    LoopIds last;
    if (tile_.is_small && window_.size() > 1) {
      last = {window_.back()};
      window_.pop_back();
    }
    if (!tile_.is_small && !window_.empty()) {
      if (const LoopIds steps = split_steps(builder_, name_, tile_, window_.back()); !steps.empty()) {
        window_.back() = steps[0];
        steps_ = {steps[1]};
      }
    }
    LoopIds order = outer_;
    order.insert(order.end(), blocks_.begin(), blocks_.end());
    if (!blocks_.empty()) order.insert(order.end(), held_.begin(), held_.end());
    order.insert(order.end(), phases_.begin(), phases_.end());
    order.insert(order.end(), window_.begin(), window_.end());
    if (!last.empty()) inner_.insert(inner_.end() - 2, last[0]);
    order.insert(order.end(), steps_.begin(), steps_.end());
    order.insert(order.end(), inner_.begin(), inner_.end());
    return schedule_.reorder(order).ok();
  }

  /// What stores the tile: the epilogue, or a copy.
  bool place_store() {
    registers_ = view_.buffer(reduction_.writes[0].buffer).name;
    computing_ = name_;
    store_ = view_.epilogue(reduction_);
    // One row at a time: nothing hides the latencies of a long epilogue but other vectors of its own.
    if (!store_.empty() && tile_.rows == 1 && count_operations(view_.block(store_).bodies[0]) > kLongEpilogue &&
        builder_.decide(name_, "store_apart", true))
      store_.clear();
    if (store_.empty()) {
      const auto made = schedule_.cache_write(name_);
      if (!made.ok()) return false;
      computing_ = *made;
      store_ = name_;
      registers_ += ".cache";
    }
    const int operations = count_operations(view_.block(store_).bodies[0]);
    is_long_ = builder_.decide(name_, "store_by_rows", operations > kLongEpilogue);
    return schedule_.reverse_compute_at(store_, outer_.back()).ok() &&
           schedule_.set_scope(registers_, blocks_.empty() && phases_.empty() && !is_long_ ? "registers" : "cache")
               .ok();
  }

  void lay_out_reduction() {
    if (tile_.pads && builder_.decide(name_, "pad_columns", true))
      (void)tried(schedule_.pad(computing_, tile_.vector_axis));
    if (const LoopIds& reducing = blocks_.empty() ? window_ : blocks_; !reducing.empty())
      (void)tried(schedule_.decompose_reduction(computing_, reducing.front()));
    const size_t rank = reduction_.axes.size();
    if (tile_.vector_axis + 1 != static_cast<int>(rank)) {
      std::vector<int> dims;
      for (size_t k = 0; k < rank; ++k)
        if (static_cast<int>(k) != tile_.vector_axis) dims.push_back(static_cast<int>(k));
      dims.push_back(tile_.vector_axis);
      (void)tried(schedule_.transform_layout(registers_, fmt::format("{}", fmt::join(dims, ":"))));
    }
    lay_out_initialization(builder_, computing_);
  }

  void skip_and_unroll() {
    for (const LoopId loop : steps_) (void)tried(schedule_.unroll(loop));
    skips_ = tried(schedule_.skip_padding(computing_));
    if (!tile_.is_small)
      for (const int source : loads(view_.block(computing_)))
        (void)tried(schedule_.skip_border(computing_, view_.buffer(source).name));
    if (!tile_.is_small || !builder_.decide(name_, "unroll_window", true)) return;
    // Where it stands in the code several times, its rows are taken one by one.
    const bool is_short = tile_.rows * tile_.vectors * window_size_ * pieces_apart() <= kMostWrittenOut;
    for (size_t k = is_short ? 0 : 1; k < window_.size(); ++k) (void)tried(schedule_.unroll(window_[k]));
  }

  /// How often the tile stands in the code: for borders of the rows, and for the columns that are left.
  int64_t pieces_apart() const { return (peels_ || skips_ ? 3 : 1) * (peels_part_ ? 2 : 1); }

  /// The block that stores the tile: rows unrolled (but where it computes much), vectors along the tile's vector axis.
  void store_tile() {
    const LoopIds loops = view_.loops(store_);
    const size_t rank = view_.block(store_).axes.size();
    const LoopIds own(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
    LoopIds order;
    for (size_t k = 0; k < rank; ++k)
      if (static_cast<int>(k) != tile_.vector_axis) order.push_back(own[k]);
    order.push_back(own[tile_.vector_axis]);
    if (order != own) (void)tried(schedule_.reorder(order));
    // One wide vector, where its size is a power of two: others LLVM keeps in scalars between blocks of code.
    const bool is_wide = is_long_ && std::has_single_bit(static_cast<uint64_t>(tile_.vectors));
    const auto parts = schedule_.split(own[tile_.vector_axis],
                                       is_wide ? Integers{1, tile_.width()} : Integers{tile_.vectors, tile_.lanes});
    if (!parts.ok()) return;
    for (size_t k = 0; k + 1 < rank; ++k)
      if (view_.extent(order[k]) <= tile_.rows && !is_long_) (void)tried(schedule_.unroll(order[k]));
    (void)tried(schedule_.unroll((*parts)[0]));
    (void)tried(schedule_.vectorize((*parts)[1]));
  }

  void peel_rows(const std::string& iteration) {
    if (!held_.empty() && view_.extent(held_.back()) > 1 &&
        builder_.decide(name_, fmt::format("peel_{}_rows", iteration), true))
      (void)tried(schedule_.peel(held_.back(), iteration));
  }

  /// Without rows: the borders of the innermost image loop stand apart, so that no step in between asks whether it is
  /// padding. How many of the outer loops threads may still share.
  size_t peel_borders(size_t shared) {
    if (outer_.size() < 2) return shared;
    const size_t place = outer_.size() - 2;
    const LoopIds before(outer_.begin(), outer_.begin() + static_cast<std::ptrdiff_t>(place));
    const int64_t threads = builder_.machine().threads;
    const bool is_worth =
        view_.extent(outer_[place]) >= kLeastBetweenBorders && (threads < 2 || view_.iterations(before) >= 4 * threads);
    if (!builder_.decide(name_, "peel_borders", is_worth)) return shared;
    const bool first = tried(schedule_.peel(outer_[place], "first")),
               last = tried(schedule_.peel(outer_[place], "last"));
    return first || last ? place : shared;
  }

  /// What the block that stores tiles reads beside them (residuals) comes from far away: it is asked for before the
  /// reduction.
  void prefetch() {
    const Block& map = view_.block(store_);
    const auto results = points(map);
    const auto read = loads(map);
    const bool reads_others = std::any_of(read.begin(), read.end(), [&](int buffer) {
      return view_.buffer(buffer).scope == Scope::kArgument && !view_.buffer(buffer).is_constant &&
             element_count(view_.buffer(buffer).shape).constant() >= results;
    });
    const LoopIds loops = view_.loops(store_);
    if (reads_others && builder_.decide(name_, "prefetch", true))
      (void)tried(schedule_.annotate(loops[loops.size() - map.axes.size() - 1], kPrefetch, 1));
  }

  /// Operands that move with the columns, or with blocks of the reduction, come from far away; while several tiles of
  /// rows are made of some, the next ones are asked for. What is read once streams by itself.
  void ask_ahead() {
    LoopId moving = blocks_.empty() ? across_[0] : blocks_.back();
    if (!view_.has_loop(moving)) moving = view_.loops(computing_).front();  // one with others, for threads to share
    if (view_.extent(moving) < 2) return;
    const LoopIds around = view_.loops(computing_);
    LoopIds inside(std::find(around.begin(), around.end(), moving) + 1, around.end());
    std::erase_if(inside, [&](LoopId loop) {
      const auto is_in = [&](const LoopIds& loops) {
        return std::find(loops.begin(), loops.end(), loop) != loops.end();
      };
      return is_in(window_) || is_in(steps_) || is_in(inner_);
    });
    if (builder_.decide(name_, "ahead", tile_.row_axis >= 0 && view_.iterations(inside) > 1))
      (void)tried(schedule_.annotate(moving, kAhead, 1));
  }

  Builder& builder_;
  const View& view_;
  Schedule& schedule_;
  const std::string& name_;
  const Tile& tile_;
  const Block reduction_;
  const LoopIds loops_;
  LoopIds across_;  ///< tiles of vectors, vectors, lanes
  LoopIds image_;   ///< over other axes than those that move packed operands
  LoopIds outer_, window_, inner_;
  LoopIds steps_;   ///< of the reduction's innermost loop, written out around the tile
  LoopIds blocks_;  ///< of the reduction, around loops over results
  LoopIds held_;    ///< over results that a block of the reduction runs through
  LoopIds phases_;  ///< of rows that lie a period apart: between them, and stored with them
  int64_t window_size_ = 1;
  bool peels_part_ = false;  ///< columns that are left stand apart
  bool peels_ = false, stays_ = false, skips_ = false, is_long_ = false;
  std::string computing_, store_, registers_;
};

}  // namespace

void schedule_tiles(Builder& builder, const std::string& name, LoopIds* outer) {
  const View& view = builder.view;
  if (!builder.decide(name, "tiles", true)) return;
  const Schedule before = builder.schedule;
  store_paddings(builder, name);
  widen_operands(builder, name);
  const auto work = points(view.block(name));
  if (!work || *work == 0) return;
  const Tiled reduction{name, extents_of(view.block(name)), view.stored_strides(view.block(name))};
  Tile tile = choose_tile(builder, reduction);
  if (tile.vector_axis >= 0) {
    if (pack(builder, reduction, tile) && TileLayout(builder, name, tile).apply(*work, outer)) return;
  }
  builder.schedule = before;
}

Module tiles() {
  return {"tiles", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          [](Builder& builder, const std::string& name) { schedule_tiles(builder, name); }};
}

}  // namespace isomer::kernel
