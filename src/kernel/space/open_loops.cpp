#include "kernel/space/open_loops.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "graph/te/simplify.h"
#include "kernel/open_sizes.h"
#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"
#include "util/stable_sort.h"

namespace isomer::kernel {
namespace {

/// What tiles are chosen for in place of a size: many, of which most tiles have a whole number.
constexpr int64_t kTypicalSize = 3360;

/// A small one, for which threads have enough to do where they share the work.
constexpr int64_t kSmallSize = 64;
/// Iterations of a loop for each thread, from which on they are shared as evenly as need be.
constexpr int64_t kPiecesOfThread = 4;

/// Lanes that hold partial results, at most, the fewest of a short loop, and the most vectors of them.
constexpr int64_t kMostLanes = 64, kShortLanes = 4, kVectorsOfLanes = 4;

/// Elements of a line of memory, of four bytes, that a transposition reads from each.
constexpr int64_t kBlockOfLines = 16;

/// Steps of a reduction that read other lines of memory each, for which the first cache has room.
constexpr int64_t kStepsInCache = 32;

/// The kernel as it were if data had decided on such sizes.
Kernel with_sizes(Kernel kernel, int64_t size) {
  const OpenSizes sizes(kernel);
  const auto decided = [&](const Expr& expr) {
    const Expr result = te::transform(
        expr, [&](const Expr& e) { return te::as<te::Load>(e) && sizes.decide(e) ? te::index(size) : Expr(); });
    return result.dtype() == DataType::kInt64 ? te::simplify_index(result) : result;
  };
  for (Buffer& buffer : kernel.buffers)
    for (Dim& dim : buffer.shape) dim = Dim(decided(dim.expr()));
  rewrite_expressions(kernel.body, decided);
  return kernel;
}

/// A block alone in its loops, or in those of a step of a scan, one for each of its iterators.
struct Nest {
  std::string block;
  LoopIds loops;  ///< by iterator: those of axes, then those of the reduction
};

bool conditions_read(const Block& block, const Expr& iterator) {
  return std::ranges::any_of(block.bodies, [&](const Expr& body) {
    return te::any_node(body, [&](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      return select && te::any_node(select->condition, [&](const Expr& part) { return part == iterator; });
    });
  });
}

/// The steps of a reduction, outermost first: those that conditions speak of are around the others, for which the
/// conditions stay the same.
std::vector<int> in_order(std::vector<int> window, const Block& block) {
  std::vector<bool> decides;
  for (size_t k = 0; k < block.reduce.size(); ++k)
    decides.push_back(conditions_read(block, te::reduce_axis(static_cast<int>(k))));
  stable_sort(window,
              [&](int a, int b) { return decides[static_cast<size_t>(a)] && !decides[static_cast<size_t>(b)]; });
  return window;
}

class OpenBlock {
 public:
  OpenBlock(Builder& builder, std::string name) : builder_(builder), view_(builder.view), name_(std::move(name)) {}

  void lay_out() {
    separate_phases();
    const Block& block = view_.block(name_);
    const Nest nest{name_, view_.inner_loops(name_)};
    if (nest.loops.size() != block.axes.size() + block.reduce.size()) return;
    typical_ = with_sizes(view_.kernel(), kTypicalSize);
    const int64_t work = work_of_small();
    const std::vector<std::string> before = builder_.schedule.blocks();
    const bool is_done = block.is_reduction() ? lay_out_tiles(nest) || reduce_in_lanes(nest)
                                              : take_all_steps(builder_, name_, nest.loops);
    if (!is_done) lay_out_lanes(nest);
    std::vector<std::string> made = made_since(builder_, before);
    made.insert(made.begin(), name_);
    for (const std::string& name : made) share(name, work);
  }

 private:
  bool is_open(LoopId loop) const { return !te::as_constant(loop_of(view_.kernel(), loop.variable)->extent); }

  /// What a reduction reads by quotients and remainders along an open axis, it reads side by side in each phase.
  void separate_phases() {
    const Block block = view_.block(name_);
    for (size_t axis = block.is_reduction() ? block.axes.size() : 0; axis-- > 0;) {
      if (te::as_constant(block.axes[axis].extent)) continue;
      const int64_t phases = period(block, te::axis(static_cast<int>(axis)));
      if (phases > 1) (void)tried(builder_.schedule.split_axis(name_, static_cast<int64_t>(axis), phases));
    }
  }

  /// Operations that there are where sizes are small.
  int64_t work_of_small() const {
    const Kernel small = with_sizes(view_.kernel(), kSmallSize);
    const Block& block = *place_of_block(small, name_).block;
    int64_t operations = 0;
    for (const Expr& body : block.bodies) operations += count_operations(body);
    return points(block).value_or(0) * std::max<int64_t>(operations, 1);
  }

  /// Threads take turns along one of the loops over axes: one with many iterations, or tiles of rows, as many as there
  /// are. Not where a nest is shared already.
  void share(const std::string& name, int64_t work) {
    Schedule& schedule = builder_.schedule;
    const int64_t threads = builder_.machine().threads;
    const BlockPlace place = place_of_block(view_.kernel(), name);
    LoopIds order, open, fixed;
    for (const Loop* loop : place.loops()) {
      if (loop->ordered && order.empty()) continue;
      if (loop->ordered || loop->kind != LoopKind::kSerial || reads_any(place.block->reduce, loop->variable)) break;
      order.push_back({loop->variable});
      const auto extent = te::as_constant(loop->extent);
      if (!extent) open.push_back(order.back());
      if (extent && *extent >= kPiecesOfThread * threads) fixed.push_back(order.back());
      if (loop->body.size() != 1) break;
    }
    if (threads < 2 || (open.empty() && fixed.empty())) return;
    const Schedule before = schedule;
    // What is computed element by element stays in the order of memory.
    const bool is_outermost = !place.block->is_reduction() && !open.empty();
    LoopId shared = is_outermost ? open.front() : fixed.empty() ? open.back() : fixed.front();
    if (fixed.empty() || is_outermost) {
      const auto parts = schedule.split(shared, Integers{-1, threads});
      if (!parts.ok()) return;
      *std::ranges::find(order, shared) = (*parts)[0];
      order.push_back(shared = (*parts)[1]);
    }
    std::erase(order, shared);
    order.insert(order.begin(), shared);
    if (schedule.reorder(order).ok()) parallelize(builder_, name, {shared}, work);
    if (loop_of(view_.kernel(), shared.variable)->kind != LoopKind::kParallel) schedule = before;
  }

  /// Results in registers; whether there is a tile for them.
  bool lay_out_tiles(const Nest& nest) {
    const Schedule before = builder_.schedule;
    const bool done = view_.block(name_).writes.size() == 1 && lay_out_packed(nest);
    if (!done) builder_.schedule = before;
    return done;
  }

  bool lay_out_packed(const Nest& whole) {
    Preferring preferring;
    Builder typical(Schedule(typical_), builder_.machine(), preferring);
    const Block& block = typical.view.block(name_);
    Tiled reduction{name_, {}, write_strides(typical.kernel(), block), true};
    for (size_t k = 0; k < block.axes.size(); ++k) reduction.extents.push_back(typical.view.extent(whole.loops[k]));
    Tile tile = choose_tile(typical, reduction);
    if (tile.vector_axis < 0 || tile.row_period > 1) return false;
    tile.window = in_order(tile.window, block);
    if (!pack(builder_, reduction, tile)) return false;
    if (tile.row_axis < 0 || !is_open(whole.loops[static_cast<size_t>(tile.row_axis)])) {
      lay_out_columns(whole, tile);
      return true;
    }
    Tile alone = tile;
    alone.row_axis = -1;
    alone.rows = 1;
    const std::vector<Nest> nests = shifted(whole, tile.row_axis, {tile.rows});
    for (const Nest& nest : nests) lay_out_columns(nest, &nest == &nests.back() ? alone : tile);
    return true;
  }

  /// Where data decide how many columns there are: tiles of several vectors, of one, and what fills none.
  void lay_out_columns(const Nest& whole, Tile tile) {
    if (!is_open(whole.loops[static_cast<size_t>(tile.vector_axis)])) return lay_out_tile(whole, tile);
    const Integers widths = tile.vectors > 1 ? Integers{tile.width(), tile.lanes} : Integers{tile.lanes};
    const std::vector<Nest> nests = shifted(whole, tile.vector_axis, widths);
    for (const Nest& nest : nests) {
      lay_out_tile(nest, tile);
      tile.vectors = 1;
    }
  }

  void lay_out_tile(Nest nest, const Tile& tile) {
    // Lanes beyond the end are left out of a vector that data fill.
    LoopId& across = nest.loops[static_cast<size_t>(tile.vector_axis)];
    if (is_open(across))
      if (const auto parts = builder_.schedule.split(across, Integers{-1, tile.lanes}); parts.ok())
        across = (*parts)[1];
    // Around tiles all other axes (of which each has other operands, as heads have), around what is inside of a tile
    // the loops over tiles.
    LoopIds order = view_.inner_loops(nest.block);
    const auto depth = [&](LoopId loop) {
      const auto iterator = std::ranges::find(nest.loops, loop) - nest.loops.begin();
      const bool is_other = iterator < static_cast<int>(view_.block(nest.block).axes.size()) &&
                            iterator != tile.row_axis && iterator != tile.vector_axis;
      return is_other ? 0 : iterator == static_cast<int>(nest.loops.size()) ? 1 : 2;
    };
    stable_sort(order, [&](LoopId a, LoopId b) { return depth(a) < depth(b); });
    if (!builder_.schedule.reorder(order).ok() || !lay_out_inside(builder_, nest.block, tile, nest.loops))
      return lay_out_along(nest, static_cast<size_t>(tile.vector_axis), tile.lanes);
    stay_in_cache(nest.block);
    // Lanes read paddings under a mask.
    if (!conditions_read(view_.block(nest.block), te::axis(tile.vector_axis)))
      (void)tried(builder_.schedule.skip_padding(nest.block));
  }

  /// Around tiles of columns those of rows whose number is known (weights, mostly more than what is read beside them);
  /// and of a reduction over windows as much at a time as stays in cache while the window moves.
  void stay_in_cache(const std::string& name) {
    const BlockPlace place = place_of_block(view_.kernel(), name);
    LoopIds around, window, steps;
    LoopId tiles, rows;
    for (const LoopId id : view_.inner_loops(name)) {
      const Loop* loop = loop_of(view_.kernel(), id.variable);
      const auto extent = te::as_constant(loop->extent);
      if (loop->kind != LoopKind::kSerial) break;
      if (reads_any(place.block->reduce, loop->variable)) {
        if (!steps.empty()) window.push_back(steps.back());
        steps = {id};
        continue;
      }
      around.push_back(id);
      if (!extent) tiles = id;
      if (extent > 1 && tiles != LoopId()) rows = id;
    }
    if (rows != LoopId()) {
      std::erase(around, rows);
      around.insert(std::ranges::find(around, tiles), rows);
      (void)tried(builder_.schedule.reorder(around));
    }
    const int64_t length = steps.empty() ? 0 : view_.extent(steps.back());
    int64_t inside = std::min(length, kStepsInCache);
    while (inside > 1 && length % inside != 0) --inside;
    if (window.empty() || inside < 2 || inside == length) return;
    const Schedule before = builder_.schedule;
    const auto parts = builder_.schedule.split(steps.back(), Integers{-1, inside});
    if (!parts.ok()) return;
    LoopIds order = {(*parts)[0]};
    order.insert(order.end(), window.begin(), window.end());
    order.push_back((*parts)[1]);
    if (!builder_.schedule.reorder(order).ok()) builder_.schedule = before;
  }

  /// Nests for tiles of these sizes along the axis, and a last one for fewer iterations; the same nest alone where that
  /// can't be.
  std::vector<Nest> shifted(const Nest& whole, int axis, const Integers& sizes) {
    Schedule& schedule = builder_.schedule;
    const Schedule before = schedule;
    const LoopId loop = whole.loops[static_cast<size_t>(axis)];
    LoopIds order = view_.inner_loops(whole.block);
    std::erase(order, loop);
    order.insert(order.begin(), loop);
    const std::vector<std::string> blocks = schedule.blocks();
    const auto parts = schedule.reorder(order).ok() ? schedule.shift_inwards(loop, sizes) : Result<LoopIds>(LoopIds());
    if (!parts.ok() || parts->empty()) {
      schedule = before;
      return {whole};
    }
    std::vector<std::string> names = made_since(builder_, blocks);
    names.insert(names.begin(), whole.block);
    std::vector<Nest> result;
    for (size_t k = 0; k < names.size(); ++k) {
      LoopIds copies = view_.inner_loops(names[k]);
      copies.erase(copies.begin());
      Nest made{names[k], {}};
      for (const LoopId each : whole.loops)
        made.loops.push_back(copies[static_cast<size_t>(std::ranges::find(order, each) - order.begin())]);
      result.push_back(std::move(made));
    }
    return result;
  }

  /// Lanes along a reduction whose elements lie side by side; of one that gives a single result, in any case.
  bool reduce_in_lanes(const Nest& nest) {
    const Schedule before = builder_.schedule;
    const auto steps = steps_of_lanes(nest);
    bool has_lanes = false;
    for (const int64_t width : steps ? widths_of_lanes(*steps) : Integers()) {
      if (!hold_in_lanes(width)) break;
      has_lanes = true;
    }
    if (has_lanes) {
      (void)tried(builder_.schedule.unroll(view_.loops(name_).back()));
    } else {
      builder_.schedule = before;
    }
    return has_lanes;
  }

  /// The reduction's loop for lanes, which is the last one then: it is one with those around it that go on where it
  /// ends.
  std::optional<LoopId> steps_of_lanes(const Nest& nest) {
    const Block block = *place_of_block(typical_, name_).block;
    const std::vector<LoadAccess> accesses = load_accesses(typical_, block);
    const size_t rank = block.axes.size();
    const bool is_single =
        std::ranges::all_of(block.axes, [](const Iterator& a) { return te::as_constant(a.extent) == 1; });
    std::optional<size_t> along;
    for (size_t k = 0; k < block.reduce.size(); ++k)
      if (is_single ||
          std::ranges::all_of(accesses, [&](const LoadAccess& a) { return a.reduce[k] == 1 || a.reduce[k] == 0; }))
        along = k;
    if (!along) return std::nullopt;
    LoopId loop = nest.loops[rank + *along];
    for (; *along > 0 && !is_open(loop) && !std::ranges::any_of(block.bodies, holds_select); --*along) {
      const bool goes_on = std::ranges::all_of(accesses, [&](const LoadAccess& a) {
        return a.reduce[*along] &&
               a.reduce[*along - 1] == *a.reduce[*along] * te::as_constant(block.reduce[*along].extent).value_or(0);
      });
      const auto fused = goes_on ? builder_.schedule.fuse({nest.loops[rank + *along - 1], loop}) : Result<LoopId>(loop);
      if (!goes_on || !fused.ok()) break;
      loop = *fused;
    }
    LoopIds order = view_.inner_loops(name_);
    std::erase(order, loop);
    order.push_back(loop);
    return builder_.schedule.reorder(order).ok() ? std::optional(loop) : std::nullopt;
  }

  /// How many lanes hold partial results of the loop, and how many those of these; empty: it is too short.
  Integers widths_of_lanes(LoopId steps) {
    const Block& block = view_.block(name_);
    const bool has_masks = builder_.machine().vectors.masks;
    const int64_t length = view_.extent(steps);
    int64_t lanes = view_.lanes(block);
    if (!is_open(steps)) {
      const Schedule typical(typical_);
      if (View(typical, builder_.machine()).runs_along(*place_of_block(typical_, name_).block)) return {};
      while (lanes > kShortLanes && length < 2 * lanes) lanes /= 2;
      if (length < 2 * lanes) return {};
    }
    // Several vectors hide each other's latency; what fills them in part is under a mask.
    int64_t vectors = block.writes.size() > 1 ? 1 : kMostLanes / lanes;
    const auto fills = [&](int64_t width) {
      return has_masks ? is_open(steps) || length >= width : length > 0 && length % width == 0;
    };
    vectors = std::min(vectors, kVectorsOfLanes);
    while (vectors > 1 && !fills(vectors * lanes)) vectors /= 2;
    Integers widths = {vectors * lanes};
    if (vectors > 1) widths.push_back(lanes);
    for (int64_t width = lanes / 2; width > 1; width /= 2) widths.push_back(width);
    return widths;
  }

  /// Whether so many lanes hold partial results of the last loop.
  bool hold_in_lanes(int64_t width) {
    Schedule& schedule = builder_.schedule;
    const std::vector<std::string> before = schedule.blocks();
    const auto partial = schedule.reduce_in_lanes(name_, view_.loops(name_).back(), width);
    if (!partial.ok()) return false;
    for (const std::string& made : made_since(builder_, before))
      (void)tried(schedule.vectorize(view_.loops(made).back()));
    const LoopIds loops = view_.loops(*partial);
    const LoopId steps = loops[loops.size() - 2];
    if (!is_open(steps) && view_.extent(steps) <= kVectorsOfLanes) (void)tried(schedule.unroll(steps));
    return true;
  }

  /// Lanes along the axis in which results lie side by side, or, where these are few, along one in which they read what
  /// does.
  void lay_out_lanes(const Nest& nest) {
    const Block& block = view_.block(nest.block);
    const int64_t lanes = view_.lanes(block);
    const auto axis = axis_of_results(nest);
    if (!axis) return;
    const int64_t extent = view_.extent(nest.loops[*axis]);
    if (const auto other = extent > 0 && extent < lanes / 2 ? axis_of_reads(nest) : std::nullopt)
      return lay_out_along(nest, *other, lanes);
    const bool is_map = !block.is_reduction() && block.writes.size() == 1;
    if (!is_map || (!lay_out_transposition(nest, *axis) && !lay_out_run(nest, *axis)))
      lay_out_along(nest, *axis, lanes);
  }

  /// That of the last dim of more than one.
  std::optional<size_t> axis_of_results(const Nest& nest) const {
    const Block& block = view_.block(nest.block);
    const Write& write = block.writes[0];
    for (size_t dim = write.index.size(); dim-- > 0;) {
      for (size_t axis = 0; axis < block.axes.size(); ++axis) {
        const Expr begin = te::simplify_index(write.index[dim] - te::axis(static_cast<int>(axis)));
        if (te::as_constant(begin) && view_.extent(nest.loops[axis]) != 1) return axis;
      }
      if (!view_.buffer(write.buffer).shape[dim].is(1)) break;
    }
    return std::nullopt;
  }

  /// A map that reads along another axis than it writes has blocks of both: lines stay in cache until they are used up.
  bool lay_out_transposition(const Nest& nest, size_t axis) {
    const Block& block = *place_of_block(typical_, name_).block;
    std::optional<size_t> along;
    for (const LoadAccess& access : load_accesses(typical_, block))
      for (size_t k = 0; k < block.axes.size(); ++k)
        if (access.axes[k] == 1 && access.axes[axis].value_or(0) > 1 &&
            te::as_constant(block.axes[k].extent) > kBlockOfLines)
          along = k;
    if (!along) return false;
    Schedule& schedule = builder_.schedule;
    const Schedule before = schedule;
    const int64_t extent = view_.extent(nest.loops[axis]);
    int64_t lanes = view_.lanes(block);
    if (extent > 0) lanes = std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(extent)));
    const auto down = schedule.split(nest.loops[*along], Integers{-1, kBlockOfLines}),
               across = schedule.split(nest.loops[axis], Integers{-1, lanes});
    if (!down.ok() || !across.ok()) return false;
    LoopIds order = nest.loops;
    std::erase(order, nest.loops[*along]);
    std::erase(order, nest.loops[axis]);
    order.insert(order.end(), {(*down)[0], (*across)[0], (*down)[1], (*across)[1]});
    const bool is_done = schedule.reorder(order).ok() && schedule.vectorize((*across)[1]).ok();
    if (!is_done) schedule = before;
    return is_done;
  }

  /// The loops of a map whose extents are known, as far as it runs through memory as one loop does, become that; with
  /// what data decide around them where they don't fill vectors.
  bool lay_out_run(const Nest& nest, size_t axis) {
    const int64_t lanes = view_.lanes(view_.block(name_));
    LoopIds loops = nest.loops;
    const auto is_one = [&](LoopId loop) { return view_.extent(loop) == 1; };
    stable_sort(loops, [&](LoopId a, LoopId b) { return is_one(a) && !is_one(b); });
    if (loops.back() != nest.loops[axis]) return false;
    if (loops != nest.loops && !builder_.schedule.reorder(loops).ok()) return false;
    size_t first = loops.size();
    int64_t length = 1;
    while (first > 0 && !is_open(loops[first - 1])) length *= view_.extent(loops[--first]);
    if (first > 0 && length < 2 * lanes && length % lanes != 0) --first;
    LoopIds run(loops.begin() + static_cast<std::ptrdiff_t>(first), loops.end());
    fuse_run(builder_, name_, run);
    if (!is_open(run.back())) {
      vectorize(builder_, run.back(), name_);
      return true;
    }
    loops.resize(first);
    loops.insert(loops.end(), run.begin(), run.end());
    lay_out_along({name_, loops}, loops.size() - 1, lanes);
    return true;
  }

  /// An open axis along which everything that is read lies side by side, or stays.
  std::optional<size_t> axis_of_reads(const Nest& nest) const {
    const std::vector<LoadAccess> accesses = load_accesses(typical_, *place_of_block(typical_, name_).block);
    for (size_t axis = 0; axis < view_.block(nest.block).axes.size(); ++axis) {
      const auto lies_so = [&](const LoadAccess& a) { return a.axes[axis] == 0 || a.axes[axis] == 1; };
      const auto moves = [&](const LoadAccess& a) { return a.axes[axis] == 1; };
      if (is_open(nest.loops[axis]) && std::ranges::all_of(accesses, lies_so) && std::ranges::any_of(accesses, moves))
        return axis;
    }
    return std::nullopt;
  }

  /// Lanes along the axis, innermost.
  void lay_out_along(const Nest& nest, size_t axis, int64_t lanes) {
    Schedule& schedule = builder_.schedule;
    const Schedule before = schedule;
    const LoopId along = nest.loops[axis];
    const int64_t extent = view_.extent(along);
    if (extent > 0) lanes = std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(extent)));
    const auto parts = schedule.split(along, Integers{-1, lanes});
    if (!parts.ok()) return;
    LoopIds order = nest.loops;
    std::erase(order, along);
    order.insert(order.end() - static_cast<std::ptrdiff_t>(view_.block(nest.block).reduce.size()), (*parts)[0]);
    order.push_back((*parts)[1]);
    const bool is_in_order = schedule.reorder(order).ok();
    const auto stored = schedule.keep_in_registers(nest.block, (*parts)[0]);
    if (!is_in_order || !schedule.vectorize((*parts)[1]).ok()) {
      schedule = before;
      return;
    }
    if (stored.ok()) write_out_beside(builder_, nest.block, *stored);
    lay_out_initialization(builder_, nest.block);
    // The last vector's lanes beyond the end are left out.
    if (extent > lanes && extent % lanes != 0) (void)tried(schedule.peel((*parts)[0], "last"));
  }

  Builder& builder_;
  const View& view_;
  const std::string name_;
  Kernel typical_;  ///< before tiles
};

}  // namespace

Schedule with_open_loops(Schedule start, const Machine& machine) {
  Preferring preferring;
  Builder builder(std::move(start), machine, preferring);
  const Module sums = wide_sums();
  for (const std::string& name : builder.schedule.blocks())
    if (sums.applies(builder.view, name)) sums.apply(builder, name);
  for (const std::string& name : builder.schedule.blocks())
    if (builder.view.is_step(name)) {
      steps().apply(builder, name);
    } else if (builder.view.has_block(name) && !builder.view.inner_loops(name).empty()) {
      OpenBlock(builder, name).lay_out();
    }
  return std::move(builder.schedule);
}

}  // namespace isomer::kernel
