#include "kernel/default_schedule.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Loops shorter than this many element operations are not worth a fork and join.
constexpr int64_t kParallelWork = 16'384;
/// A map of at most so many operations (intrinsics count more) is computed again by each of its readers rather than stored.
constexpr int kCheap = 2;
/// Elements of a row of intermediate results that a core's own cache holds.
constexpr int64_t kRowElements = 65'536;
/// Reductions unrolled inside a tile: windows of pooling and depthwise filters.
constexpr int64_t kSmallWindow = 25;

/// A primitive that may not apply where the analysis looked at less than the primitive does: the schedule is valid without.
template <class T>
bool tried(const Result<T>& result) {
  return result.ok();
}

/// How a reduction is tiled in registers.
struct Tile {
  int vector_axis = -1;  ///< lanes run along it
  int row_axis = -1;     ///< -1: none; each row of the tile reuses the vectors of the others
  int64_t lanes = 1;
  int64_t vectors = 1;  ///< of `lanes` along vector_axis
  int64_t rows = 1;     ///< along row_axis
};

class Scheduler {
 public:
  Scheduler(Kernel kernel, const Machine& machine, const std::set<int>& constants) : schedule_(std::move(kernel)), machine_(machine) {
    for (const int input : constants) constants_.insert(schedule_.kernel().inputs[input]);
  }

  Schedule run() {
    inline_maps();
    for (const std::string& name : schedule_.blocks())
      if (alone(name) && block(name).is_reduction()) schedule_tiles(name);
    std::vector<std::string> rest = schedule_.blocks();
    std::reverse(rest.begin(), rest.end());
    for (const std::string& name : rest) {
      if (!alone(name)) continue;  // under another block's loops already, or part of something ordered
      if (block(name).is_reduction()) {
        schedule_rows(name);
      } else {
        schedule_map(name);
      }
    }
    return std::move(schedule_);
  }

 private:
  const Kernel& kernel() const { return schedule_.kernel(); }

  Block block(const std::string& name) const {
    Kernel copy = kernel();
    return find_block(copy, name)->block();
  }

  /// Whether the block stands in a root nest of its own, without an order, not yet scheduled.
  bool alone(const std::string& name) const {
    Kernel copy = kernel();
    const auto place = find_block(copy, name);
    if (!place.ok() || place->ancestors.empty()) return false;
    return std::all_of(place->ancestors.begin(), place->ancestors.end(), [](const Statement* ancestor) {
      const auto* loop = std::get_if<Loop>(&ancestor->node);
      return loop && !loop->ordered && loop->body.size() == 1 && loop->kind == LoopKind::kSerial && te::as_constant(loop->extent);
    });
  }

  int64_t extent(LoopId id) const {
    Kernel copy = kernel();
    return te::as_constant(find_loop(copy, id.variable)->loop().extent).value_or(0);
  }

  int lanes(const Block& block) const {
    int result = 64;
    for (const Write& write : block.writes) result = std::min(result, machine_.lanes(kernel().buffers[write.buffer].dtype));
    return result;
  }

  /// Maps that nothing is gained from storing.
  void inline_maps() {
    for (const std::string& name : schedule_.blocks()) {
      const Block candidate = block(name);
      if (candidate.is_reduction() || candidate.writes.size() != 1 || candidate.bodies.size() != 1) continue;
      const int buffer = candidate.writes[0].buffer;
      const std::vector<std::string> users = readers(kernel(), buffer);
      if (users.empty() || is_output(kernel(), buffer)) continue;
      const auto made = points(candidate);
      bool worth = count_operations(candidate.bodies[0]) <= kCheap;
      if (!worth && users.size() == 1 && made) {
        const auto read = points(block(users[0]));
        worth = read && *read <= *made;
      }
      // A select in the innermost loop of a reduction costs more than the copy that it saves.
      bool selects = false;
      te::for_each_node(candidate.bodies[0], [&](const Expr& e) { selects |= te::as<te::Select>(e) != nullptr; });
      for (const std::string& user : users) worth &= !selects || !block(user).is_reduction();
      if (worth) (void)tried(schedule_.compute_inline(name));
    }
  }

  // Maps

  /// Whether every load moves with the output, element by element, or not at all.
  bool is_flat(const Block& block) const {
    const Buffer& out = kernel().buffers[block.writes[0].buffer];
    for (const LoadAccess& access : load_accesses(kernel(), block)) {
      const auto& index = te::as<te::Load>(access.load)->index;
      const bool same = kernel().buffers[access.buffer].shape == out.shape && is_point(index, out.shape);
      const bool fixed = std::all_of(access.axes.begin(), access.axes.end(), [](const auto& stride) { return stride == 0; });
      if (!same && !fixed) return false;
    }
    return true;
  }

  void schedule_map(const std::string& name) {
    const Block map = block(name);
    const auto work = points(map);
    if (!work || *work == 0) return;
    LoopIds loops = *schedule_.loops(name);
    const size_t rows = row_axes(map);
    if (rows > 0) return schedule_row_group(name, rows, *work);
    if (loops.size() > 1 && is_flat(map)) loops = {*schedule_.fuse(loops)};
    vectorize(loops.back(), lanes(map));
    loops = *schedule_.loops(name);
    parallelize({loops.begin(), loops.end() - 1}, *work);
  }

  /// How many leading axes of a map index all reductions that it reads: what it reads of them is the work of one row.
  size_t row_axes(const Block& map) const {
    size_t rows = map.axes.size();
    bool reads_reduction = false;
    te::for_each_node(map.bodies[0], [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load) return;
      const auto makers = writers(kernel(), load->buffer.index);
      if (makers.size() != 1 || !alone(makers[0]) || !block(makers[0]).is_reduction()) return;
      reads_reduction = true;
      size_t leading = 0;
      while (leading < rows && std::find(load->index.begin(), load->index.end(), te::axis(static_cast<int>(leading))) != load->index.end()) ++leading;
      rows = leading;
    });
    return reads_reduction && rows < map.axes.size() ? rows : 0;
  }

  /// Reductions over rows and the map that reads them share one loop over the rows: what they pass on stays in cache.
  void schedule_row_group(const std::string& name, size_t rows, int64_t work) {
    LoopIds loops = *schedule_.loops(name);
    LoopIds outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows));
    const LoopId row = rows == 1 ? outer[0] : *schedule_.fuse(outer);
    std::vector<std::string> earlier = schedule_.blocks();
    earlier.erase(std::find(earlier.begin(), earlier.end(), name), earlier.end());
    std::vector<std::string> moved;
    for (auto producer = earlier.rbegin(); producer != earlier.rend(); ++producer)
      if (alone(*producer) && moved_to_row(*producer, row)) moved.push_back(*producer);
    vectorize((*schedule_.loops(name)).back(), lanes(block(name)));
    for (auto producer = moved.rbegin(); producer != moved.rend(); ++producer) {
      const Block inner = block(*producer);
      if (inner.is_reduction()) {
        vectorize_reduction(*producer);
      } else {
        vectorize((*schedule_.loops(*producer)).back(), lanes(inner));
      }
    }
    parallelize({row}, work * static_cast<int64_t>(1 + moved.size()));
  }

  /// Moves a block under the loop unless it would be computed more than once, or what it passes on would not fit a cache.
  bool moved_to_row(const std::string& name, LoopId row) {
    const Schedule before = schedule_;
    const auto work = points(block(name));
    if (!work || !schedule_.compute_at(name, row).ok()) return false;
    int64_t iterations = 1;
    const LoopIds loops = *schedule_.loops(name);
    for (const LoopId loop : loops) iterations *= extent(loop);
    if (iterations <= *work && *work / std::max<int64_t>(extent(row), 1) <= kRowElements) return true;
    schedule_ = before;
    return false;
  }

  /// Splits a loop so that vectors of it are left; whole ones where a width divides it.
  void vectorize(LoopId loop, int64_t widest) {
    const int64_t count = extent(loop);
    if (count < 2) return;
    int64_t width = widest;
    while (width > 4 && count % width != 0) width /= 2;
    if (count % width != 0) width = std::min<int64_t>(widest, std::bit_ceil(static_cast<uint64_t>(count)));
    const auto parts = schedule_.split(loop, Integers{-1, width});
    if (parts.ok()) (void)tried(schedule_.vectorize((*parts)[1]));
  }

  /// One parallel loop over these outermost ones, where there is enough to do.
  void parallelize(const LoopIds& outer, int64_t work) {
    if (outer.empty() || work < kParallelWork || machine_.threads < 2) return;
    const auto fused = outer.size() == 1 ? Result<LoopId>(outer[0]) : schedule_.fuse(outer);
    if (fused.ok()) (void)tried(schedule_.parallel(*fused));
  }

  // Reductions

  /// Reductions of which lanes compute several results at a time.
  void schedule_tiles(const std::string& name) {
    const Schedule before = schedule_;
    store_paddings(name);
    const Block reduction = block(name);
    const auto work = points(reduction);
    if (!work || *work == 0) return;
    const Tile tile = choose_tile(reduction);
    if (tile.vector_axis >= 0) {
      pack(name, tile);
      if (lay_out_tiles(name, tile, *work)) return;
    }
    schedule_ = before;
  }

  /// Reads under a padding's select become reads of a padded copy.
  void store_paddings(const std::string& name) {
    for (const Expr& body : block(name).bodies) {
      std::set<int> padded;
      te::for_each_node(body, [&](const Expr& e) {
        if (const auto* select = te::as<te::Select>(e))
          if (const auto* load = te::as<te::Load>(select->then)) padded.insert(load->buffer.index);
      });
      for (const int buffer : padded) {
        const auto copier = schedule_.cache_read(name, kernel().buffers[buffer].name);
        if (copier.ok()) schedule_map(*copier);
      }
    }
  }

  bool constant(int buffer) const { return constants_.contains(buffer); }

  /// Lanes along the axis: every load moves by one element or stays, or can be packed so; the output is written in order
  /// or each vector of results is the work of a long reduction.
  bool can_vectorize(const Block& reduction, const std::vector<LoadAccess>& accesses, int axis) const {
    bool moves = false;
    for (const LoadAccess& access : accesses) {
      const auto stride = access.axes[axis];
      if (!stride) return false;
      moves |= *stride != 0;
      if (*stride != 0 && *stride != 1 && !constant(access.buffer)) return false;
    }
    const bool last = axis + 1 == static_cast<int>(reduction.axes.size());
    int64_t length = 1;
    for (const Iterator& r : reduction.reduce) length *= te::as_constant(r.extent).value_or(0);
    return moves && (last || length >= 32);
  }

  Tile choose_tile(const Block& reduction) const {
    const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
    const int64_t lanes = this->lanes(reduction);
    Tile best;
    double best_score = 0;
    for (int axis = static_cast<int>(reduction.axes.size()); axis-- > 0;) {
      const auto size = te::as_constant(reduction.axes[axis].extent);
      if (!size || *size < 2 || reduction.writes.size() != 1 || !can_vectorize(reduction, accesses, axis)) continue;
      Tile tile = with_rows(reduction, accesses, axis, lanes);
      // Lanes that do something, and how often a loaded vector is used.
      const int64_t covered = tile.lanes * tile.vectors;
      const double filled = static_cast<double>(*size) / static_cast<double>((*size + covered - 1) / covered * covered);
      const double reuse = static_cast<double>(tile.rows * tile.vectors) / static_cast<double>(tile.rows + tile.vectors);
      const bool last = axis + 1 == static_cast<int>(reduction.axes.size());
      const double score = filled * std::min(reuse, 1.5) * static_cast<double>(tile.lanes) * (last ? 1.25 : 1);
      if (score > best_score) {
        best = tile;
        best_score = score;
      }
    }
    return best;
  }

  /// The register tile: as many rows of vectors as registers hold, at least one vector and (without broadcast operands) one
  /// scalar beside the accumulators (kernel_tuner.md 6.1).
  Tile with_rows(const Block& reduction, const std::vector<LoadAccess>& accesses, int axis, int64_t lanes) const {
    Tile tile{.vector_axis = axis};
    const int64_t size = *te::as_constant(reduction.axes[axis].extent);
    tile.lanes = std::min<int64_t>(lanes, std::bit_ceil(static_cast<uint64_t>(size)));
    for (size_t k = reduction.axes.size(); k-- > 0 && tile.row_axis < 0;) {
      const int row = static_cast<int>(k);
      if (row == axis || te::as_constant(reduction.axes[row].extent).value_or(0) < 2) continue;
      bool reuses = false, streams = false;
      for (const LoadAccess& access : accesses) {
        reuses |= access.axes[row] == 0 && access.axes[axis] != 0;
        streams |= access.axes[row] != 0 && access.axes[axis] == 0;
      }
      if (reuses && streams) tile.row_axis = row;
    }
    const int64_t vectors_there = (size + tile.lanes - 1) / tile.lanes;
    if (tile.row_axis < 0) {
      tile.vectors = std::min<int64_t>(4, vectors_there);
      return tile;
    }
    const int64_t rows_there = *te::as_constant(reduction.axes[tile.row_axis].extent);
    double best = 0;
    for (int64_t vectors = 1; vectors <= 4; ++vectors)
      for (int64_t rows = 1; rows <= 14; ++rows) {
        const int64_t registers = rows * vectors + vectors + (machine_.broadcast_operands ? 0 : 1);
        if (registers > machine_.vector_registers || vectors > vectors_there || rows > rows_there) continue;
        const auto used = [](int64_t there, int64_t step) { return static_cast<double>(there) / static_cast<double>((there + step - 1) / step * step); };
        // Eight accumulators hide the latency of multiply-adds; tiles of one vector reach four fifths of the rest.
        const double filled = used(vectors_there, vectors) * used(rows_there, rows);
        const double busy = std::min(1.0, static_cast<double>(rows * vectors) / 8) * (vectors == 1 ? 0.8 : 1);
        const double reuse = static_cast<double>(rows * vectors) / static_cast<double>(rows + vectors);
        const double score = filled * busy * (1 + 0.01 * reuse);
        if (score > best) {
          best = score;
          tile.vectors = vectors;
          tile.rows = rows;
        }
      }
    return tile;
  }

  /// Constant operands that the vectors run across are brought into blocks of the tile's width.
  void pack(const std::string& name, const Tile& tile) {
    const Block reduction = block(name);
    for (const LoadAccess& access : load_accesses(kernel(), reduction)) {
      if (!constant(access.buffer) || access.axes[tile.vector_axis] == 0) continue;
      const auto& index = te::as<te::Load>(access.load)->index;
      const auto along = std::find(index.begin(), index.end(), te::axis(tile.vector_axis));
      if (along == index.end()) continue;
      const std::string source = kernel().buffers[access.buffer].name;
      const auto copier = schedule_.cache_read(name, source);
      if (!copier.ok()) continue;
      const int64_t width = tile.lanes * tile.vectors;
      const auto axis = along - index.begin();
      std::string layout = fmt::format("{}/{}", axis, width);
      for (size_t k = 0; k < index.size(); ++k)
        if (static_cast<std::ptrdiff_t>(k) != axis) layout += fmt::format(":{}", k);
      (void)tried(schedule_.transform_layout(*copier, layout + fmt::format(":{}%{}", axis, width)));
    }
  }

  /// The map that alone reads the reduction's result, element by element; empty: there is none.
  std::string epilogue(const Block& reduction) const {
    const int buffer = reduction.writes[0].buffer;
    const std::vector<std::string> users = readers(kernel(), buffer);
    if (is_output(kernel(), buffer) || users.size() != 1 || !alone(users[0])) return {};
    const Block map = block(users[0]);
    if (map.is_reduction() || map.axes.size() != reduction.axes.size()) return {};
    bool same = true;
    te::for_each_node(map.bodies[0], [&](const Expr& e) {
      if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == buffer) same &= is_point(load->index, kernel().buffers[buffer].shape);
    });
    return same ? users[0] : std::string();
  }

  /// outer axes, parallel | tiles | reduction | rows unrolled, vectors unrolled, lanes
  bool lay_out_tiles(const std::string& name, const Tile& tile, int64_t work) {
    const Block reduction = block(name);
    const std::string written = kernel().buffers[reduction.writes[0].buffer].name;
    LoopIds loops = *schedule_.loops(name);
    const size_t rank = reduction.axes.size();
    const int64_t width = tile.lanes * tile.vectors;
    const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
    if (!across.ok()) return false;
    LoopIds outer, inner, window;
    LoopIds down;
    if (tile.row_axis >= 0) down = *schedule_.split(loops[tile.row_axis], Integers{-1, tile.rows});
    for (size_t k = 0; k < rank; ++k) {
      if (static_cast<int>(k) == tile.vector_axis) {
        outer.push_back((*across)[0]);
      } else if (static_cast<int>(k) == tile.row_axis) {
        outer.push_back(down[0]);
      } else {
        outer.push_back(loops[k]);
      }
    }
    // Tiles along the vectors stay together outside those along the rows: a packed panel serves all rows.
    if (tile.row_axis >= 0 && tile.vector_axis > tile.row_axis) std::iter_swap(outer.begin() + tile.vector_axis, outer.begin() + tile.row_axis);
    int64_t window_size = 1;
    for (size_t k = rank; k < loops.size(); ++k) {
      window.push_back(loops[k]);
      window_size *= extent(loops[k]);
    }
    if (tile.row_axis >= 0) inner.push_back(down[1]);
    inner.push_back((*across)[1]);
    inner.push_back((*across)[2]);
    LoopIds order = outer;
    order.insert(order.end(), window.begin(), window.end());
    order.insert(order.end(), inner.begin(), inner.end());
    if (!schedule_.reorder(order).ok()) return false;

    // What stores the tile: the epilogue, or a copy.
    std::string computing = name, store = epilogue(reduction), registers = written;
    if (store.empty()) {
      const auto made = schedule_.cache_write(name);
      if (!made.ok()) return false;
      computing = *made;
      store = name;
      registers = written + ".cache";
    }
    if (!schedule_.reverse_compute_at(store, outer.back()).ok() || !schedule_.set_scope(registers, "registers").ok()) return false;
    (void)tried(schedule_.pad(computing));
    if (!window.empty()) (void)tried(schedule_.decompose_reduction(computing, window.front()));
    const auto lay_out = [&](const LoopIds& tile_loops) {
      for (const LoopId loop : tile_loops)
        if (loop == tile_loops.back()) {
          (void)tried(schedule_.vectorize(loop));
        } else {
          (void)tried(schedule_.unroll(loop));
        }
    };
    lay_out_initialization(computing);
    lay_out(inner);
    if (window_size <= kSmallWindow)
      for (const LoopId loop : window) (void)tried(schedule_.unroll(loop));
    store_tile(store, tile, width);
    parallelize(outer_of(store, outer), work);
    return true;
  }

  /// The initialization took the kinds that the loops had then: serial ones; its last loop runs along the lanes.
  void lay_out_initialization(const std::string& computing) {
    const auto loops = schedule_.loops(computing + ".init");
    if (!loops.ok()) return;
    const auto around = schedule_.loops(computing);
    for (const LoopId loop : *loops) {
      if (std::find(around->begin(), around->end(), loop) != around->end()) continue;
      if (loop == loops->back()) {
        (void)tried(schedule_.vectorize(loop));
      } else {
        (void)tried(schedule_.unroll(loop));
      }
    }
  }

  /// The block that stores the tile: rows unrolled, vectors along the tile's vector axis.
  void store_tile(const std::string& name, const Tile& tile, int64_t width) {
    const Block store = block(name);
    const LoopIds loops = *schedule_.loops(name);
    const size_t rank = store.axes.size();
    const LoopIds own(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
    for (size_t k = 0; k < rank; ++k)
      if (static_cast<int>(k) != tile.vector_axis) (void)tried(schedule_.unroll(own[k]));
    if (tile.vector_axis + 1 != static_cast<int>(rank)) {
      LoopIds order;
      for (size_t k = 0; k < rank; ++k)
        if (static_cast<int>(k) != tile.vector_axis) order.push_back(own[k]);
      order.push_back(own[tile.vector_axis]);
    }
    const auto parts = schedule_.split(own[tile.vector_axis], Integers{width / tile.lanes, tile.lanes});
    if (!parts.ok()) return;
    (void)tried(schedule_.unroll((*parts)[0]));
    (void)tried(schedule_.vectorize((*parts)[1]));
  }

  /// The loops of `outer` that stand around everything in the block's nest.
  LoopIds outer_of(const std::string& name, const LoopIds& outer) const {
    const LoopIds loops = *schedule_.loops(name);
    LoopIds result;
    for (size_t k = 0; k + 1 < std::min(loops.size(), outer.size()); ++k)
      if (loops[k] == outer[k]) result.push_back(loops[k]);
    if (result.empty() && !outer.empty()) result.push_back(outer[0]);
    return result;
  }

  /// Other reductions: rows in parallel, lanes over the reduction.
  void schedule_rows(const std::string& name) {
    const Block reduction = block(name);
    const auto work = points(reduction);
    if (!work || *work == 0) return;
    vectorize_reduction(name);
    const LoopIds loops = *schedule_.loops(name);
    parallelize({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(reduction.axes.size())}, *work);
  }

  /// A reduction along memory: lanes hold partial results, combined at the end.
  void vectorize_reduction(const std::string& name) {
    const Block reduction = block(name);
    const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
    int along = -1;
    for (size_t k = 0; k < reduction.reduce.size(); ++k) {
      const bool contiguous = std::all_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.reduce[k] == 1 || a.reduce[k] == 0; });
      if (contiguous && !accesses.empty()) along = static_cast<int>(k);
    }
    const LoopIds loops = *schedule_.loops(name);
    const int64_t narrow = lanes(reduction);
    if (along < 0 || !reduction.combine.commutative || reduction.writes.size() != 1) return;
    const LoopId loop = loops[loops.size() - reduction.reduce.size() + static_cast<size_t>(along)];
    const int64_t count = extent(loop);
    if (count < 2 * narrow) return;
    const int64_t width = count % (4 * narrow) == 0 ? 4 * narrow : count % (2 * narrow) == 0 ? 2 * narrow : narrow;
    const Schedule before = schedule_;
    const auto parts = schedule_.split(loop, Integers{-1, width});
    const auto partial = parts.ok() ? schedule_.rfactor(name, (*parts)[1]) : Result<std::string>(parts.error());
    if (!partial.ok()) {
      schedule_ = before;
      return;
    }
    const std::string written = kernel().buffers[block(*partial).writes[0].buffer].name;
    (void)tried(schedule_.set_scope(written, "registers"));
    LoopIds order = *schedule_.loops(*partial);
    order.erase(order.begin(), std::find(order.begin(), order.end(), (*parts)[0]));
    std::erase(order, (*parts)[1]);
    order.push_back((*parts)[1]);
    if (!schedule_.reorder(order).ok()) return;
    if (const auto initial = schedule_.decompose_reduction(*partial, order.front()); initial.ok()) (void)tried(schedule_.vectorize(schedule_.loops(*initial)->back()));
    (void)tried(schedule_.vectorize((*parts)[1]));
    (void)tried(schedule_.unroll(schedule_.loops(name)->back()));
  }

  Schedule schedule_;
  const Machine& machine_;
  std::set<int> constants_;  ///< their buffers
};

}  // namespace

int Machine::lanes(DataType dtype) const { return std::max(1, vector_bits / std::max(bit_width(dtype), 32)); }

Schedule default_schedule(Kernel kernel, const Machine& machine, const std::set<int>& constants) {
  return Scheduler(std::move(kernel), machine, constants).run();
}

}  // namespace isomer::kernel
