#include "kernel/default_schedule.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Loops shorter than this many element operations are not worth a fork and join.
constexpr int64_t kParallelWork = 16'384;
/// A map of at most so many operations is computed again by each of its readers rather than stored.
constexpr int kCheap = 2;
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
    for (const std::string& name : schedule_.blocks()) {
      if (!alone(name)) continue;  // moved under another block's loops already, or part of something ordered
      if (block(name).is_reduction()) {
        schedule_reduction(name);
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
      const bool same = index == block.writes[0].index && kernel().buffers[access.buffer].shape == out.shape;
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
    if (loops.size() > 1 && is_flat(map)) loops = {*schedule_.fuse(loops)};
    vectorize(loops.back(), lanes(map));
    loops = *schedule_.loops(name);
    if (*work < kParallelWork || machine_.threads < 2) return;
    parallelize({loops.begin(), loops.end() - 1});
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

  /// One parallel loop over these outermost ones.
  void parallelize(const LoopIds& outer) {
    if (outer.empty()) return;
    const auto fused = outer.size() == 1 ? Result<LoopId>(outer[0]) : schedule_.fuse(outer);
    if (fused.ok()) (void)tried(schedule_.parallel(*fused));
  }

  // Reductions

  void schedule_reduction(const std::string& name) {
    std::string reduction = name;
    store_paddings(reduction);
    Block current = block(reduction);
    const auto work = points(current);
    if (!work || *work == 0) return;
    Tile tile = choose_tile(current);
    if (tile.vector_axis < 0) return schedule_rows(reduction, current, *work);
    pack(reduction, tile);
    schedule_tiles(reduction, tile, *work);
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
        const double filled = used(vectors_there, vectors) * used(rows_there, rows);
        const double independent = std::min(1.0, static_cast<double>(rows * vectors) / 10);
        const double reuse = static_cast<double>(rows * vectors) / static_cast<double>(rows + vectors);
        const double score = filled * independent * std::min(1.0, 0.7 + 0.1 * reuse);
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

  /// outer axes, parallel | tiles | reduction | rows unrolled, vectors unrolled, lanes
  void schedule_tiles(const std::string& name, const Tile& tile, int64_t work) {
    const Block reduction = block(name);
    const std::string written = kernel().buffers[reduction.writes[0].buffer].name;
    LoopIds loops = *schedule_.loops(name);
    const size_t rank = reduction.axes.size();
    const int64_t width = tile.lanes * tile.vectors;
    const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
    if (!across.ok()) return;
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
    if (!schedule_.reorder(order).ok()) return;

    const auto computing = schedule_.cache_write(name);
    if (!computing.ok()) return;
    if (!schedule_.reverse_compute_at(name, outer.back()).ok()) return;
    if (!schedule_.set_scope(written + ".cache", "registers").ok()) return;
    (void)tried(schedule_.pad(*computing));
    if (!window.empty()) (void)tried(schedule_.decompose_reduction(*computing, window.front()));
    const auto lay_out = [&](const LoopIds& tile_loops) {
      for (const LoopId loop : tile_loops)
        if (loop == tile_loops.back()) {
          (void)tried(schedule_.vectorize(loop));
        } else {
          (void)tried(schedule_.unroll(loop));
        }
    };
    lay_out_initialization(*computing);
    lay_out(inner);
    if (window_size <= kSmallWindow)
      for (const LoopId loop : window) (void)tried(schedule_.unroll(loop));
    store_tile(name, tile, width);
    if (work >= kParallelWork && machine_.threads > 1) parallelize(outer_of(name, outer));
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

  /// Reductions along memory: lanes hold partial results, combined at the end of each row.
  void schedule_rows(const std::string& name, const Block& reduction, int64_t work) {
    const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
    LoopIds loops = *schedule_.loops(name);
    const size_t rank = reduction.axes.size();
    int along = -1;
    for (size_t k = 0; k < reduction.reduce.size(); ++k) {
      bool contiguous = !accesses.empty();
      for (const LoadAccess& access : accesses) contiguous &= access.reduce[k] == 1 || access.reduce[k] == 0;
      if (contiguous) along = static_cast<int>(k);
    }
    const int64_t width = lanes(reduction);
    const auto parallel_rows = [&](const std::string& inside) {
      const LoopIds all = *schedule_.loops(inside);
      if (rank > 0 && work >= kParallelWork && machine_.threads > 1) parallelize({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rank)});
    };
    if (along < 0 || !reduction.combine.commutative || extent(loops[rank + along]) < 2 * width || extent(loops[rank + along]) % width != 0)
      return parallel_rows(name);
    const auto parts = schedule_.split(loops[rank + along], Integers{-1, width});
    if (!parts.ok()) return;
    const auto partial = schedule_.rfactor(name, (*parts)[1]);
    if (!partial.ok()) return parallel_rows(name);
    LoopIds order = *schedule_.loops(*partial);
    std::erase(order, (*parts)[1]);
    order.push_back((*parts)[1]);
    if (schedule_.reorder(order).ok()) (void)tried(schedule_.vectorize((*parts)[1]));
    if (rank > 0) (void)tried(schedule_.compute_at(*partial, (*schedule_.loops(name))[rank - 1]));
    parallel_rows(name);
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
