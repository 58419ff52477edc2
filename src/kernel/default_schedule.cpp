#include "kernel/default_schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "kernel/access.h"
#include "kernel/tile.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Loops shorter than this many element operations are not worth a fork and join.
constexpr int64_t kParallelWork = 16'384;
/// A map of at most so many operations (intrinsics count more) is computed again by each of its readers rather than stored.
constexpr int kCheap = 2;
/// Elements of a row of intermediate results that a core's own cache holds.
constexpr int64_t kRowElements = 65'536;
/// Packed operands of a tile that stay in the second level of cache; results that do while blocks of the reduction pass.
constexpr int64_t kPanelBytes = 163'840;
constexpr int64_t kHeldBytes = 16'384;
/// Blocks of a transposition that lie one after the other in its source.
constexpr int64_t kBlocksOfRun = 16;
/// Constant operands that stay in the second level of cache with all their tiles; what a block of rows may take beside them.
constexpr int64_t kStayingBytes = 262'144;
constexpr int64_t kRowBlockBytes = 131'072;

/// A primitive that may not apply where the analysis looked at less than the primitive does: the schedule is valid without.
template <class T>
bool tried(const Result<T>& result) {
  return result.ok();
}

class Scheduler {
 public:
  Scheduler(Schedule schedule, const Machine& machine, const std::set<int>& constants) : schedule_(std::move(schedule)), machine_(machine) {
    for (const int input : constants) constants_.insert(schedule_.kernel().inputs[input]);
  }

  Schedule run() {
    inline_maps();
    (void)tried(schedule_.collapse());
    for (const std::string& name : schedule_.blocks())
      if (alone(name) && block(name).is_reduction()) schedule_rows_inside(name);
    for (const std::string& name : schedule_.blocks())
      if (alone(name) && block(name).is_reduction()) schedule_tiles(name);
    for (const std::string& name : schedule_.blocks())
      if (is_step(name)) schedule_step(name);
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

  /// Whether the block is part of something ordered (a step of a scan) and alone in the loops inside of that.
  bool is_step(const std::string& name) const {
    Kernel copy = kernel();
    const auto place = find_block(copy, name);
    if (!place.ok()) return false;
    bool is_ordered = false, is_free = true;
    for (const Statement* ancestor : place->ancestors) {
      const auto* loop = std::get_if<Loop>(&ancestor->node);
      if (!loop) return false;
      is_ordered |= loop->ordered;
      is_free = loop->ordered || (is_free && loop->body.size() == 1 && loop->kind == LoopKind::kSerial && te::as_constant(loop->extent));
    }
    return is_ordered && is_free && !std::get<Loop>(place->ancestors.back()->node).ordered;
  }

  /// The block's own loops, inside of what is ordered, or of the loop around them.
  LoopIds inner_loops(const std::string& name, LoopId around = {}) const {
    Kernel copy = kernel();
    LoopIds result;
    for (const Loop* loop : find_block(copy, name)->loops()) {
      if (loop->ordered || loop->variable == around.variable) {
        result.clear();
      } else {
        result.push_back({loop->variable});
      }
    }
    return result;
  }

  /// Steps run on one thread, and what they compute lies where the next ones find it: vectors, and tiles of registers that
  /// live through the reduction.
  void schedule_step(const std::string& name) {
    const Block step = block(name);
    const LoopIds loops = inner_loops(name);
    if (loops.size() != step.axes.size() + step.reduce.size() || step.writes.size() != 1 || step.bodies.size() != 1) return;
    if (!step.is_reduction()) return vectorize(loops.back(), lanes(step));
    const Schedule before = schedule_;
    packs_constants_only_ = true;
    Tile tile = tiler().choose(step, extents(step), stored_strides(step));
    if (tile.vector_axis < 0 || !pack(name, tile) || !lay_out_inside(name, tile, loops)) schedule_ = before;
    packs_constants_only_ = false;
  }

  /// A reduction that runs inside of other loops, by its own: one for each of its axes (none for a point), then its reduction.
  /// axes, tiles of vectors, tiles of rows | reduction | rows, vectors, lanes
  bool lay_out_inside(const std::string& name, const Tile& tile, const LoopIds& loops) {
    if (tile.row_period > 1) return false;
    const size_t rank = block(name).axes.size();
    const int64_t columns = extent(loops[tile.vector_axis]), lines = tile.row_axis < 0 ? 0 : extent(loops[tile.row_axis]);
    const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
    if (!across.ok()) return false;
    LoopIds order, inner, down;
    for (size_t k = 0; k < rank; ++k)
      if (static_cast<int>(k) != tile.vector_axis && static_cast<int>(k) != tile.row_axis && loops[k] != LoopId()) order.push_back(loops[k]);
    order.push_back((*across)[0]);
    if (tile.row_axis >= 0) {
      down = *schedule_.split(loops[tile.row_axis], Integers{-1, tile.rows});
      order.push_back(down[0]);
      inner.push_back(down[1]);
    }
    inner.insert(inner.end(), across->begin() + 1, across->end());
    const size_t front = order.size();
    for (const int k : tile.window) order.push_back(loops[rank + static_cast<size_t>(k)]);
    order.insert(order.end(), inner.begin(), inner.end());
    if (!schedule_.reorder(order).ok()) return false;
    if (!tile.window.empty() && tried(schedule_.decompose_reduction(name, order[front]))) lay_out_initialization(name);
    if (!write_out(inner)) return false;
    if (!down.empty() && lines % tile.rows != 0 && lines > tile.rows) (void)tried(schedule_.peel(down[0], "last"));
    if (columns % tile.width() != 0) (void)tried(schedule_.peel((*across)[0], "last"));
    return true;
  }

  int64_t extent(LoopId id) const {
    Kernel copy = kernel();
    return te::as_constant(find_loop(copy, id.variable)->loop().extent).value_or(0);
  }

  Tiler tiler() const { return {kernel(), machine_, constants_, packs_constants_only_}; }
  int lanes(const Block& block) const { return tiler().lanes(block); }

  static Integers extents(const Block& block) {
    Integers result;
    for (const Iterator& axis : block.axes) result.push_back(te::as_constant(axis.extent).value_or(0));
    return result;
  }

  /// Maps that nothing is gained from storing.
  void inline_maps() {
    for (const std::string& name : schedule_.blocks()) {
      const Block candidate = block(name);
      if (moves_reduction(candidate) && tried(schedule_.reverse_compute_inline(name))) continue;
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

  /// A map that brings the results of a reduction into another place.
  bool moves_reduction(const Block& map) const {
    const auto* load = map.is_reduction() || map.bodies.size() != 1 ? nullptr : te::as<te::Load>(map.bodies[0]);
    if (!load) return false;
    const auto makers = writers(kernel(), load->buffer.index);
    return makers.size() == 1 && block(makers[0]).is_reduction();
  }

  // Maps

  /// Whether every load moves through memory as the output does, or not at all.
  bool is_flat(const Block& block) const {
    const Strides out = write_strides(kernel(), block);
    for (const LoadAccess& access : load_accesses(kernel(), block)) {
      const bool fixed = std::all_of(access.axes.begin(), access.axes.end(), [](const auto& stride) { return stride == 0; });
      if (!fixed && access.axes != out) return false;
    }
    return true;
  }

  /// Where sources lie contiguous along another axis than the result, blocks of both are moved at a time: each line of
  /// cache is read once.
  void block_transposition(const Block& map, LoopIds& loops) {
    const Strides out = write_strides(kernel(), map);
    const auto innermost = std::find(out.begin(), out.end(), 1) - out.begin();
    int along = -1;
    for (const LoadAccess& access : load_accesses(kernel(), map))
      for (size_t k = 0; k < map.axes.size() && innermost < static_cast<std::ptrdiff_t>(out.size()) && access.axes[innermost] != 0; ++k)
        if (access.axes[k] == 1 && out[k] && *out[k] > 1 && te::as_constant(map.axes[k].extent).value_or(0) >= 8) along = static_cast<int>(k);
    if (along < 0) return;
    for (size_t i = 0; i + 1 < loops.size(); ++i) {
      if (!(map.axes[along].binding == loop_variable(loops[i].variable))) continue;
      int64_t step = std::min<int64_t>(16, extent(loops[i]));
      while (step > 4 && extent(loops[i]) % step != 0) --step;
      if (extent(loops[i]) % step != 0) step = 16;
      // Runs of several blocks along the source: it is fetched ahead only where lines follow each other.
      const auto down = schedule_.split(loops[i], Integers{-1, std::min<int64_t>(kBlocksOfRun, (extent(loops[i]) + step - 1) / step), step});
      const auto across = schedule_.split(loops.back(), Integers{-1, std::min<int64_t>(16, extent(loops.back()))});
      if (!down.ok() || !across.ok()) return;
      LoopIds order = loops;
      order.pop_back();
      order[i] = (*down)[0];
      order.insert(order.end(), {(*across)[0], (*down)[1], (*down)[2], (*across)[1]});
      if (schedule_.reorder(order).ok()) loops = order;
      return;
    }
  }

  /// Loops of a map in the order in which its output lies in memory, as far as that is known.
  LoopIds in_memory_order(const std::string& name) {
    LoopIds loops = *schedule_.loops(name);
    const Strides out = write_strides(kernel(), block(name));
    if (std::any_of(out.begin(), out.end(), [](const auto& stride) { return !stride; })) return loops;
    std::vector<size_t> order(loops.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::pair(-*out[a], a) < std::pair(-*out[b], b); });
    LoopIds sorted;
    for (const size_t k : order) sorted.push_back(loops[k]);
    if (sorted != loops && tried(schedule_.reorder(sorted))) loops = sorted;
    return loops;
  }

  void schedule_map(const std::string& name) {
    const Block map = block(name);
    const auto work = points(map);
    if (!work || *work == 0) return;
    const size_t rows = row_axes(map);
    if (rows > 0) return schedule_row_group(name, rows, *work);
    LoopIds loops = in_memory_order(name);
    if (loops.size() > 1 && is_flat(map)) loops = {*schedule_.fuse(loops)};
    if (loops.size() > 1) block_transposition(map, loops);
    vectorize(loops.back(), lanes(map));
    loops = *schedule_.loops(name);
    parallelize({loops.begin(), loops.end() - 1}, *work);
  }

  /// Whether the block is a reduction or made of what one gives, not yet scheduled.
  bool follows_reduction(const std::string& name) const {
    if (!alone(name)) return false;
    const Block each = block(name);
    if (each.is_reduction()) return true;
    for (const int buffer : loads(each))
      for (const std::string& maker : writers(kernel(), buffer))
        if (maker != name && follows_reduction(maker)) return true;
    return false;
  }

  /// How many leading axes of a map index all that it reads of reductions: what it reads of them is the work of one row.
  size_t row_axes(const Block& map) const {
    size_t rows = map.axes.size();
    bool reads_reduction = false;
    te::for_each_node(map.bodies[0], [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load) return;
      const auto makers = writers(kernel(), load->buffer.index);
      if (makers.size() != 1 || !follows_reduction(makers[0])) return;
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
    if (iterations(*schedule_.loops(name)) <= *work && *work / std::max<int64_t>(extent(row), 1) <= kRowElements) return true;
    schedule_ = before;
    return false;
  }

  // Reductions over rows that others make

  /// The load by which a reduction alone reads whole rows that other blocks make.
  std::optional<LoadAccess> rows_read(const Block& reduction) const {
    for (const LoadAccess& access : load_accesses(kernel(), reduction)) {
      const auto makers = writers(kernel(), access.buffer);
      const auto& index = te::as<te::Load>(access.load)->index;
      const auto reduces = [](const Expr& e) { return te::as<te::Var>(e) && te::as<te::Var>(e)->kind == te::VarKind::kReduce; };
      if (makers.size() != 1 || !alone(makers[0]) || is_output(kernel(), access.buffer) || readers(kernel(), access.buffer).size() != 1) continue;
      if (std::count_if(index.begin(), index.end(), reduces) == 1) return access;
    }
    return std::nullopt;
  }

  /// Attention, and what has its form: blocks of rows pass through all reductions and stay in cache between them.
  void schedule_rows_inside(const std::string& name) {
    const Block last = block(name);
    const auto rows = rows_read(last);
    if (!rows || last.writes.size() != 1) return;
    const Schedule before = schedule_;
    if (!lay_out_rows_inside(name, last, *rows)) schedule_ = before;
  }

  /// axes of the rows, one loop | blocks of rows | all that makes the rows, what is left of the reduction
  bool lay_out_rows_inside(const std::string& name, const Block& last, const LoadAccess& rows) {
    const auto work = points(last);
    const LoopIds loops = *schedule_.loops(name);
    if (!work || *work == 0) return false;
    const std::vector<LoadAccess> accesses = load_accesses(kernel(), last);
    LoopIds outer, inner;
    int down = -1;  // the axis of which blocks are made: what is read beside the rows serves all of a block
    for (int k = 0; k < static_cast<int>(last.axes.size()); ++k) {
      if (rows.axes[k] == 0) continue;
      const bool shares = std::any_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer != rows.buffer && a.axes[k] == 0; });
      if (shares && extent(loops[k]) > 1) down = k;
    }
    int64_t length = 1;
    for (size_t k = 0; k < last.reduce.size(); ++k)
      if (rows.reduce[k] != 0) length *= te::as_constant(last.reduce[k].extent).value_or(0);
    const int64_t count = down < 0 ? 1 : extent(loops[down]);
    const int64_t block_rows = rows_of_block(count, kRowBlockBytes / (std::max<int64_t>(length, 1) * lanes_bytes(last)));
    for (int k = 0; k < static_cast<int>(last.axes.size()); ++k)
      if (k != down) (rows.axes[k] == 0 ? inner : outer).push_back(loops[k]);
    if (down >= 0) {
      const LoopIds parts = *schedule_.split(loops[down], Integers{-1, block_rows});
      outer.push_back(parts[0]);
      inner.insert(inner.begin(), parts[1]);
    }
    if (outer.empty()) return false;
    LoopIds order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.insert(order.end(), loops.begin() + static_cast<std::ptrdiff_t>(last.axes.size()), loops.end());
    if (!schedule_.reorder(order).ok()) return false;
    const auto fused = outer.size() == 1 ? Result<LoopId>(outer[0]) : schedule_.fuse(outer);
    if (!fused.ok()) return false;

    std::vector<std::string> all = schedule_.blocks(), inside;
    all.erase(std::find(all.begin(), all.end(), name), all.end());
    int64_t sum = *work;
    for (auto producer = all.rbegin(); producer != all.rend(); ++producer) {
      const auto made = points(block(*producer));
      const Schedule moved_from = schedule_;
      if (!alone(*producer) || !made || !schedule_.compute_at(*producer, *fused).ok()) continue;
      if (iterations(*schedule_.loops(*producer)) > *made + *made / 4) {
        schedule_ = moved_from;
        continue;
      }
      sum += *made;
      inside.insert(inside.begin(), *producer);
    }
    if (std::none_of(inside.begin(), inside.end(), [&](const std::string& b) { return writers(kernel(), rows.buffer).front() == b; })) return false;
    inside.push_back(name);
    for (const std::string& each : inside) schedule_inside(each, *fused);
    parallelize({*fused}, sum);
    return true;
  }

  /// How many of the rows a block has: at most `most`, in blocks of one size if that can be.
  static int64_t rows_of_block(int64_t rows, int64_t most) {
    if (rows <= most) return rows;
    most = std::max<int64_t>(most, kMostRows);
    for (int64_t size = std::min(most, rows); 2 * size > most; --size)
      if (rows % size == 0) return size;
    return std::min(most, rows);
  }

  void schedule_inside(const std::string& name, LoopId around) {
    const Block each = block(name);
    const LoopIds loops = inner_loops(name, around);
    if (!each.is_reduction()) return vectorize(loops.back(), lanes(each));
    // What is left of each axis inside; one that has no loop is a point there.
    LoopIds own;
    Integers extents;
    for (const auto* list : {&each.axes, &each.reduce})
      for (const Iterator& iterator : *list) {
        const auto moves = variables(iterator.binding);
        const auto loop = std::find_if(loops.begin(), loops.end(), [&](LoopId id) { return moves.contains(id.variable); });
        own.push_back(loop == loops.end() ? LoopId() : *loop);
        if (list == &each.axes) extents.push_back(loop == loops.end() ? 1 : extent(*loop));
      }
    const Schedule before = schedule_;
    Tile tile = tiler().choose(each, extents, write_strides(kernel(), each));
    if (tile.vector_axis >= 0 && pack(name, tile) && lay_out_inside(name, tile, own)) return;
    schedule_ = before;
    vectorize_reduction(name);
  }

  /// Splits a loop so that vectors of it are left: whole ones where a width divides it or there are many, with a last one
  /// apart.
  void vectorize(LoopId loop, int64_t widest) {
    const int64_t count = extent(loop);
    if (count < 2) return;
    int64_t width = widest;
    while (count < 8 * widest && width > 4 && count % width != 0) width /= 2;
    if (count % width != 0) width = std::min<int64_t>(widest, std::bit_ceil(static_cast<uint64_t>(count)));
    const auto parts = schedule_.split(loop, Integers{-1, width});
    if (!parts.ok() || !tried(schedule_.vectorize((*parts)[1]))) return;
    if (count % width != 0) (void)tried(schedule_.peel((*parts)[0], "last"));
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
    const auto work = points(block(name));
    if (!work || *work == 0) return;
    const Block reduction = block(name);
    Tile tile = tiler().choose(reduction, extents(reduction), stored_strides(reduction));
    if (tile.vector_axis >= 0) {
      tile.may_skip = factors_are_constant(reduction);
      if (pack(name, tile) && lay_out_tiles(name, tile, *work)) return;
    }
    schedule_ = before;
  }

  /// Reads under a padding's select become reads of a padded copy, where elements are read often.
  void store_paddings(const std::string& name) {
    const Block reduction = block(name);
    const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
    for (const Expr& body : reduction.bodies) {
      std::set<int> padded;
      te::for_each_node(body, [&](const Expr& e) {
        const auto* select = te::as<te::Select>(e);
        const auto* load = select ? te::as<te::Load>(select->then) : nullptr;
        if (!load) return;
        const auto access = std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.load == select->then; });
        if (access != accesses.end() && tiler().reuse(reduction, *access) >= kWorthCopy) padded.insert(load->buffer.index);
      });
      for (const int buffer : padded) {
        const std::string layout = memory_layout(buffer, accesses);
        if (factors_are_constant(reduction)) (void)tried(schedule_.split_padding(name, kernel().buffers[buffer].name, worth_padding(reduction, buffer, accesses)));
        const auto copier = schedule_.cache_read(name, kernel().buffers[buffer].name);
        if (!copier.ok()) continue;
        if (!layout.empty()) (void)tried(schedule_.transform_layout(*copier, layout));
        schedule_map(*copier);
      }
    }
  }

  /// Dims of a buffer along which a copy with padding is to be made: the innermost of those that windows move along, and
  /// where the copy is not mostly padding. Along others, steps in the padding are skipped.
  Integers worth_padding(const Block& reduction, int buffer, const std::vector<LoadAccess>& accesses) const {
    const auto access = std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer == buffer; });
    const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
      const auto* variable = te::as<te::Var>(leaf);
      if (!variable || variable->kind == te::VarKind::kLoop) return {};
      const Iterator& iterator = (variable->kind == te::VarKind::kReduce ? reduction.reduce : reduction.axes)[variable->index];
      return {0, te::as_constant(iterator.extent).value_or(1) - 1};
    };
    Integers dims;
    const auto& index = te::as<te::Load>(access->load)->index;
    bool is_innermost = true;
    for (size_t k = index.size(); k-- > 0;) {
      if (te::as<te::Var>(index[k])) continue;
      const te::Interval reached = te::bounds(index[k], ranges);
      const int64_t size = kernel().buffers[buffer].shape[k].constant().value_or(0);
      if (is_innermost || !reached.low || !reached.high || 2 * (*reached.high - *reached.low + 1) < 3 * size) dims.push_back(static_cast<int64_t>(k));
      is_innermost = false;
    }
    return dims;
  }

  /// The order of a buffer's dims in memory is that of its accesses: a copy of it keeps the dims over which the reduction
  /// runs with a constant operand innermost. Empty: as it is.
  static std::string memory_layout(int buffer, const std::vector<LoadAccess>& accesses) {
    std::vector<int> inner, rest;
    const auto access = std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer == buffer; });
    if (access == accesses.end()) return {};
    const auto& index = te::as<te::Load>(access->load)->index;
    for (size_t k = 0; k < index.size(); ++k) {
      const auto* variable = te::as<te::Var>(index[k]);
      (variable && variable->kind == te::VarKind::kReduce ? inner : rest).push_back(static_cast<int>(k));
    }
    rest.insert(rest.end(), inner.begin(), inner.end());
    return std::is_sorted(rest.begin(), rest.end()) ? std::string() : fmt::format("{}", fmt::join(rest, ":"));
  }

  bool constant(int buffer) const { return constants_.contains(buffer); }

  /// Which of the elements of its buffer that a block reads an access is.
  int64_t ordinal(const std::string& name, const LoadAccess& access) const {
    int64_t number = 0;
    for (const LoadAccess& other : load_accesses(kernel(), block(name))) {
      if (other.load == access.load) break;
      number += other.buffer == access.buffer;
    }
    return number;
  }

  /// How the results lie in memory in the end: as the epilogue stores them, if there is one.
  Strides stored_strides(const Block& reduction) const {
    const std::string map = epilogue(reduction);
    return write_strides(kernel(), map.empty() ? reduction : block(map));
  }

  /// Operands that the vectors run across are brought into blocks of the tile's width, in the order in which the tile's
  /// loops read them, unless they lie well already: contiguous along the vectors, of whole vectors, and not constant.
  bool pack(const std::string& name, Tile& tile) {
    const Block reduction = block(name);
    const int64_t width = tile.lanes * tile.vectors;
    const bool has_tail = *te::as_constant(reduction.axes[tile.vector_axis].extent) % width != 0;
    tile.pads = has_tail;
    for (const LoadAccess& access : tile.accesses) {
      const auto stride = access.axes[tile.vector_axis];
      if (stride == 0) continue;
      if (stride == 1 && !constant(access.buffer) && !(has_tail && tiler().reuse(reduction, access) >= kWorthCopy)) {
        tile.pads = false;
        continue;
      }
      if (!tiler().can_pack(reduction, access, tile.vector_axis)) {
        if (stride != 1) return false;
        tile.pads = false;
        continue;
      }
      const auto& index = te::as<te::Load>(access.load)->index;
      const auto along = std::find(index.begin(), index.end(), te::axis(tile.vector_axis)) - index.begin();
      const std::string source = kernel().buffers[access.buffer].name;
      const bool is_constant = constant(access.buffer);
      const auto copier = schedule_.cache_read(name, source, ordinal(name, access));
      if (!copier.ok()) return false;
      // Dims over other axes, blocks, dims over the reduction in the order of its loops, lanes.
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
      std::vector<std::string> layout;
      for (const auto& [place, k] : dims)
        if (place < 0) layout.push_back(fmt::format("{}", k));
      layout.push_back(fmt::format("{}/{}", along, width));
      for (const auto& [place, k] : dims)
        if (place >= 0) layout.push_back(fmt::format("{}", k));
      layout.push_back(fmt::format("{}%{}", along, width));
      if (!schedule_.transform_layout(*copier, fmt::format("{}", fmt::join(layout, ":"))).ok()) return false;
      if (!is_constant) schedule_map(*copier);
    }
    return true;
  }

  /// The map that alone reads the reduction's result, element by element; empty: there is none.
  std::string epilogue(const Block& reduction) const {
    const int buffer = reduction.writes[0].buffer;
    const std::vector<std::string> users = readers(kernel(), buffer);
    if (is_output(kernel(), buffer) || users.size() != 1 || !alone(users[0])) return {};
    const Block map = block(users[0]);
    if (map.is_reduction() || map.writes.size() != 1 || map.axes.size() != reduction.axes.size()) return {};
    bool same = true;
    te::for_each_node(map.bodies[0], [&](const Expr& e) {
      if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == buffer) same &= is_point(load->index, kernel().buffers[buffer].shape);
    });
    return same ? users[0] : std::string();
  }

  /// axes that move packed operands, tiles of vectors (where all of them stay in cache: behind the next), other axes, tiles
  /// of rows | reduction | rows unrolled, vectors unrolled, lanes
  bool lay_out_tiles(const std::string& name, const Tile& tile, int64_t work) {
    const Block reduction = block(name);
    const std::vector<LoadAccess>& accesses = tile.accesses;
    const std::string written = kernel().buffers[reduction.writes[0].buffer].name;
    const LoopIds loops = *schedule_.loops(name);
    const size_t rank = reduction.axes.size();
    const int64_t width = tile.lanes * tile.vectors;
    const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
    if (!across.ok()) return false;
    LoopIds batch, image, window, inner;
    for (size_t k = 0; k < rank; ++k) {
      if (static_cast<int>(k) == tile.vector_axis || static_cast<int>(k) == tile.row_axis) continue;
      const bool moves = std::any_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.axes[tile.vector_axis] != 0 && a.axes[k].value_or(0) != 0; });
      (moves ? batch : image).push_back(loops[k]);
    }
    int64_t window_size = 1;
    for (const int k : tile.window) {
      window.push_back(loops[rank + static_cast<size_t>(k)]);
      window_size *= extent(window.back());
    }
    LoopIds outer = batch;
    outer.push_back((*across)[0]);
    LoopIds blocks;  // of the reduction, around loops over results
    LoopIds held;    // over results that a block of the reduction runs through
    LoopIds phases;  // of rows that lie a period apart: between them, and stored with them
    bool peels = false, stays = false;
    if (tile.row_axis >= 0) {
      const int64_t extent_down = *te::as_constant(reduction.axes[tile.row_axis].extent), rows = (extent_down + tile.row_period - 1) / tile.row_period;
      const int64_t tiles = (rows + tile.rows - 1) / tile.rows;
      peels = extent_down % (tile.rows * tile.row_period) != 0 && tiles > 1;
      const int64_t element = lanes_bytes(reduction), most = kHeldBytes / (width * element) / tile.rows;  // tiles of results that stay in cache
      if (tile.row_period == 1 && window_size * width * element > kPanelBytes && tiles * iterations(image) > 1 && most > 1) blocks = block_window(window, kPanelBytes / (width * element));
      const int64_t vectors_extent = *te::as_constant(reduction.axes[tile.vector_axis].extent);
      stays = blocks.empty() && vectors_extent * window_size * element <= kStayingBytes;
      int64_t pieces = 1;
      if (stays) {
        const int64_t fitting = kRowBlockBytes / ((vectors_extent + window_size) * element) / tile.rows;
        pieces = pieces_of_at_most(tiles, std::clamp<int64_t>(fitting, 1, kMostTiles));
      } else if (!blocks.empty() && tiles > most) {
        pieces = pieces_of_at_most(tiles, most);
      } else if (blocks.empty()) {
        pieces = pieces_of(tiles, iterations(outer) * iterations(image));
      }
      for (int64_t results = tiles; !blocks.empty() && pieces == 1 && !image.empty() && results * extent(image.back()) <= most;) {
        results *= extent(image.back());
        held.insert(held.begin(), image.back());
        image.pop_back();
      }
      Integers factors = pieces > 1 ? Integers{pieces, -1, tile.rows} : Integers{-1, tile.rows};
      if (tile.row_period > 1) factors.push_back(tile.row_period);
      LoopIds down = *schedule_.split(loops[tile.row_axis], factors);
      if (tile.row_period > 1) {
        phases = {down.back()};
        down.pop_back();
      }
      if (stays) outer.pop_back();
      outer.insert(outer.end(), image.begin(), image.end());
      if (pieces > 1) outer.push_back(down[0]);
      if (stays) outer.push_back((*across)[0]);
      held.push_back(down[down.size() - 2]);
      inner.push_back(down.back());
    } else {
      outer.insert(outer.end(), image.begin(), image.end());
    }
    // Loops that threads may share; the last tile of vectors stands apart where it is not full.
    const bool has_part = *te::as_constant(reduction.axes[tile.vector_axis].extent) % width != 0 && extent((*across)[0]) > 1;
    const bool peels_part = has_part && (stays || machine_.threads < 2);
    const size_t shared = outer.size() - (stays && has_part ? 1 : 0);
    inner.push_back((*across)[1]);
    inner.push_back((*across)[2]);
    if (blocks.empty()) outer.insert(outer.end(), held.begin(), held.end());
    // Small windows: neighbours in a row share what the innermost loop reads.
    const bool is_small = window_size <= kSmallWindow;
    LoopIds last;
    if (is_small && window.size() > 1) {
      last = {window.back()};
      window.pop_back();
    }
    LoopIds order = outer;
    order.insert(order.end(), blocks.begin(), blocks.end());
    if (!blocks.empty()) order.insert(order.end(), held.begin(), held.end());
    order.insert(order.end(), phases.begin(), phases.end());
    order.insert(order.end(), window.begin(), window.end());
    if (!last.empty()) inner.insert(inner.end() - 2, last[0]);
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
    if (!schedule_.reverse_compute_at(store, outer.back()).ok() || !schedule_.set_scope(registers, blocks.empty() && phases.empty() ? "registers" : "cache").ok()) return false;
    if (tile.pads) (void)tried(schedule_.pad(computing, tile.vector_axis));
    if (const LoopIds& reducing = blocks.empty() ? window : blocks; !reducing.empty()) (void)tried(schedule_.decompose_reduction(computing, reducing.front()));
    if (tile.vector_axis + 1 != static_cast<int>(rank)) {
      std::vector<int> dims;
      for (size_t k = 0; k < rank; ++k)
        if (static_cast<int>(k) != tile.vector_axis) dims.push_back(static_cast<int>(k));
      dims.push_back(tile.vector_axis);
      (void)tried(schedule_.transform_layout(registers, fmt::format("{}", fmt::join(dims, ":"))));
    }
    lay_out_initialization(computing);
    write_out(inner);
    const bool skips = tile.may_skip && tried(schedule_.skip_padding(computing));
    if (tile.may_skip && window_size > kSmallWindow)
      for (const int source : loads(block(computing))) (void)tried(schedule_.skip_border(computing, kernel().buffers[source].name));
    if (is_small)
      for (const LoopId loop : window) (void)tried(schedule_.unroll(loop));
    store_tile(store, tile, width);
    if (!held.empty() && (peels || skips) && extent(held.back()) > 1) (void)tried(schedule_.peel(held.back(), "last"));
    if (!held.empty() && skips && extent(held.back()) > 1) (void)tried(schedule_.peel(held.back(), "first"));
    if (peels_part) (void)tried(schedule_.peel((*across)[0], "last"));
    parallelize({outer.begin(), outer.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(shared, 1))}, work);
    return true;
  }

  int64_t lanes_bytes(const Block& block) const { return std::max(bit_width(kernel().buffers[block.writes[0].buffer].dtype), 32) / 8; }

  int64_t iterations(const LoopIds& loops) const {
    int64_t count = 1;
    for (const LoopId loop : loops) count *= extent(loop);
    return count;
  }

  /// Whether what is multiplied in the reduction with an operand is constant, and with that finite.
  bool factors_are_constant(const Block& reduction) const {
    const auto* product = te::as<te::Binary>(reduction.bodies[0]);
    if (!product || product->op != te::BinaryOp::kMul) return true;
    for (const Expr& factor : {product->left, product->right}) {
      const auto* load = te::as<te::Load>(factor);
      if (load && writers(kernel(), load->buffer.index).empty() && constant(load->buffer.index)) return true;
    }
    return false;
  }

  /// Takes loops off the reduction's front until what is left has at most `steps` steps; cuts one in two where none fits.
  LoopIds block_window(LoopIds& window, int64_t steps) {
    int64_t count = 1;
    size_t first = window.size();
    while (first > 0 && count * extent(window[first - 1]) <= steps) count *= extent(window[--first]);
    LoopIds blocks(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(first));
    window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(first));
    if (!window.empty() || blocks.empty()) return blocks;
    const int64_t length = extent(blocks.back());
    int64_t step = std::min(steps, length);
    while (step > 1 && length % step != 0) --step;
    if (2 * step < std::min<int64_t>(steps, 64)) {  // no factor of use
      window.swap(blocks);
      return {};
    }
    const LoopIds parts = *schedule_.split(blocks.back(), Integers{-1, step});
    blocks.back() = parts[0];
    window = {parts[1]};
    return blocks;
  }

  /// Into how many pieces tiles of rows are cut so that threads get equal shares of `outer` times them.
  int64_t pieces_of(int64_t tiles, int64_t outer) const {
    const int64_t wanted = 8 * machine_.threads;
    if (machine_.threads < 2 || outer >= wanted || outer % machine_.threads == 0) return 1;
    for (int64_t pieces = 2; pieces <= std::min(tiles, 8 * wanted); ++pieces)
      if (tiles % pieces == 0 && (outer * pieces >= wanted || outer * pieces % machine_.threads == 0)) return pieces;
    return 1;
  }

  /// The initialization took the kinds that the loops had then: serial ones; its last loop runs along the lanes.
  void lay_out_initialization(const std::string& computing) {
    const auto loops = schedule_.loops(computing + ".init");
    if (!loops.ok()) return;
    const auto around = schedule_.loops(computing);
    LoopIds own;
    for (const LoopId loop : *loops)
      if (std::find(around->begin(), around->end(), loop) == around->end() && (loop == loops->back() || extent(loop) <= kMostRows)) own.push_back(loop);
    if (!own.empty()) (void)write_out(own);
  }

  /// The loops of a tile: all unrolled but the last, which becomes lanes; whether that did.
  bool write_out(const LoopIds& loops) {
    for (size_t k = 0; k + 1 < loops.size(); ++k) (void)tried(schedule_.unroll(loops[k]));
    return tried(schedule_.vectorize(loops.back()));
  }

  /// The block that stores the tile: rows unrolled, vectors along the tile's vector axis.
  void store_tile(const std::string& name, const Tile& tile, int64_t width) {
    const LoopIds loops = *schedule_.loops(name);
    const size_t rank = block(name).axes.size();
    const LoopIds own(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
    LoopIds order;
    for (size_t k = 0; k < rank; ++k)
      if (static_cast<int>(k) != tile.vector_axis) order.push_back(own[k]);
    order.push_back(own[tile.vector_axis]);
    if (order != own) (void)tried(schedule_.reorder(order));
    const auto parts = schedule_.split(own[tile.vector_axis], Integers{width / tile.lanes, tile.lanes});
    if (!parts.ok()) return;
    for (size_t k = 0; k + 1 < rank; ++k)
      if (extent(order[k]) <= tile.rows) (void)tried(schedule_.unroll(order[k]));
    (void)tried(schedule_.unroll((*parts)[0]));
    (void)tried(schedule_.vectorize((*parts)[1]));
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
    const auto steps = partial_results(name, loop, width);
    if (!steps) {
      schedule_ = before;
      return;
    }
    if (count % width != 0) (void)tried(schedule_.peel(*steps, "last"));
    if (width > narrow) {
      if (const auto vectors = partial_results(name, schedule_.loops(name)->back(), narrow)) (void)tried(schedule_.unroll(*vectors));
    }
    (void)tried(schedule_.unroll(schedule_.loops(name)->back()));
  }

  /// Cuts a reduction's loop into steps of `width` lanes, which hold partial results that the block combines. The loop over
  /// the steps; the schedule is spoilt where it gives none.
  std::optional<LoopId> partial_results(const std::string& name, LoopId loop, int64_t width) {
    const auto parts = schedule_.split(loop, Integers{-1, width});
    const auto partial = parts.ok() ? schedule_.rfactor(name, (*parts)[1]) : Result<std::string>(parts.error());
    if (!partial.ok()) return std::nullopt;
    const std::string written = kernel().buffers[block(*partial).writes[0].buffer].name;
    (void)tried(schedule_.set_scope(written, "registers"));
    LoopIds order = *schedule_.loops(*partial);
    order.erase(order.begin(), std::find(order.begin(), order.end(), (*parts)[0]));
    std::erase(order, (*parts)[1]);
    order.push_back((*parts)[1]);
    if (!schedule_.reorder(order).ok()) return std::nullopt;
    if (const auto initial = schedule_.decompose_reduction(*partial, order.front()); initial.ok()) (void)tried(schedule_.vectorize(schedule_.loops(*initial)->back()));
    (void)tried(schedule_.vectorize((*parts)[1]));
    return (*parts)[0];
  }

  Schedule schedule_;
  bool packs_constants_only_ = false;  ///< others change from step to step
  const Machine& machine_;
  std::set<int> constants_;  ///< their buffers
};

}  // namespace

int Machine::lanes(DataType dtype) const { return std::max(1, vector_bits / std::max(bit_width(dtype), 32)); }

Schedule default_schedule(Schedule schedule, const Machine& machine, const std::set<int>& constants) {
  return Scheduler(std::move(schedule), machine, constants).run();
}

}  // namespace isomer::kernel
