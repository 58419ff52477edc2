#include <fmt/ranges.h>

#include <algorithm>

#include "kernel/default_scheduler.h"

namespace isomer::kernel {
namespace {

/// Packed operands of a tile that stay in the second level of cache; results that do while blocks of the reduction
/// pass.
constexpr int64_t kPanelBytes = 163'840;
constexpr int64_t kHeldBytes = 16'384;
/// An epilogue of more operations is a loop over rows, so that what it computes with finds registers.
constexpr int kLongEpilogue = 9;
/// Constant operands that stay in the second level of cache with all their tiles.
constexpr int64_t kStayingBytes = 262'144;

}  // namespace

void Scheduler::schedule_tiles(const std::string& name) {
  const Schedule before = schedule_;
  store_paddings(name);
  const Block reduction = block(name);
  const auto work = points(reduction);
  if (!work || *work == 0) return;
  Tile tile = tiler().choose(reduction, extents(reduction), stored_strides(reduction));
  if (tile.vector_axis >= 0) {
    tile.may_skip = factors_are_constant(reduction);
    if (pack(name, tile) && lay_out_tiles(name, tile, *work)) return;
  }
  schedule_ = before;
}

void Scheduler::store_paddings(const std::string& name) {
  const Block reduction = block(name);
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
  for (const Expr& body : reduction.bodies) {
    std::set<int> padded;
    te::for_each_node(body, [&](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      const auto* load = select ? te::as<te::Load>(select->then) : nullptr;
      if (!load) return;
      const auto access =
          std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.load == select->then; });
      if (access != accesses.end() && tiler().reuse(reduction, *access) >= kWorthCopy)
        padded.insert(load->buffer.index);
    });
    for (const int buffer : padded) {
      const std::string layout = memory_layout(buffer, accesses);
      if (factors_are_constant(reduction))
        (void)tried(
            schedule_.split_padding(name, kernel().buffers[buffer].name, worth_padding(reduction, buffer, accesses)));
      const auto copier = schedule_.cache_read(name, kernel().buffers[buffer].name);
      if (!copier.ok()) continue;
      if (!layout.empty()) (void)tried(schedule_.transform_layout(*copier, layout));
      schedule_map(*copier);
    }
  }
}

Integers Scheduler::worth_padding(const Block& reduction, int buffer, const std::vector<LoadAccess>& accesses) const {
  const auto access =
      std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer == buffer; });
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    if (!variable || variable->kind == te::VarKind::kLoop) return {};
    const Iterator& iterator =
        (variable->kind == te::VarKind::kReduce ? reduction.reduce : reduction.axes)[variable->index];
    return {0, te::as_constant(iterator.extent).value_or(1) - 1};
  };
  Integers dims;
  const auto& index = te::as<te::Load>(access->load)->index;
  bool is_innermost = true;
  for (size_t k = index.size(); k-- > 0;) {
    if (te::as<te::Var>(index[k])) continue;
    const te::Interval reached = te::bounds(index[k], ranges);
    const int64_t size = kernel().buffers[buffer].shape[k].constant().value_or(0);
    if (is_innermost || !reached.low || !reached.high || 2 * (*reached.high - *reached.low + 1) < 3 * size)
      dims.push_back(static_cast<int64_t>(k));
    is_innermost = false;
  }
  return dims;
}

std::string Scheduler::memory_layout(int buffer, const std::vector<LoadAccess>& accesses) {
  std::vector<int> inner, rest;
  const auto access =
      std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer == buffer; });
  if (access == accesses.end()) return {};
  const auto& index = te::as<te::Load>(access->load)->index;
  for (size_t k = 0; k < index.size(); ++k) {
    const auto* variable = te::as<te::Var>(index[k]);
    (variable && variable->kind == te::VarKind::kReduce ? inner : rest).push_back(static_cast<int>(k));
  }
  rest.insert(rest.end(), inner.begin(), inner.end());
  return std::is_sorted(rest.begin(), rest.end()) ? std::string() : fmt::format("{}", fmt::join(rest, ":"));
}

int64_t Scheduler::ordinal(const std::string& name, const LoadAccess& access) const {
  int64_t number = 0;
  for (const LoadAccess& other : load_accesses(kernel(), block(name))) {
    if (other.load == access.load) break;
    number += other.buffer == access.buffer;
  }
  return number;
}

Strides Scheduler::stored_strides(const Block& reduction) const {
  const std::string map = epilogue(reduction);
  return write_strides(kernel(), map.empty() ? reduction : block(map));
}

bool Scheduler::pack(const std::string& name, Tile& tile) {
  const Block reduction = block(name);
  const int64_t width = tile.width();
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

std::string Scheduler::epilogue(const Block& reduction) const {
  const int buffer = reduction.writes[0].buffer;
  const std::vector<std::string> users = readers(kernel(), buffer);
  if (is_output(kernel(), buffer) || users.size() != 1 || !alone(users[0])) return {};
  const Block map = block(users[0]);
  if (map.is_reduction() || map.writes.size() != 1 || map.axes.size() != reduction.axes.size()) return {};
  bool same = true;
  te::for_each_node(map.bodies[0], [&](const Expr& e) {
    if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == buffer)
      same &= is_point(load->index, kernel().buffers[buffer].shape);
  });
  return same ? users[0] : std::string();
}

bool Scheduler::lay_out_tiles(const std::string& name, const Tile& tile, int64_t work) {
  const Block reduction = block(name);
  const std::vector<LoadAccess>& accesses = tile.accesses;
  const std::string written = kernel().buffers[reduction.writes[0].buffer].name;
  const LoopIds loops = *schedule_.loops(name);
  const size_t rank = reduction.axes.size();
  const int64_t width = tile.width();
  const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
  if (!across.ok()) return false;
  LoopIds batch, image, window, inner;
  for (size_t k = 0; k < rank; ++k) {
    if (static_cast<int>(k) == tile.vector_axis || static_cast<int>(k) == tile.row_axis) continue;
    const bool moves = std::any_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) {
      return a.axes[tile.vector_axis] != 0 && a.axes[k].value_or(0) != 0;
    });
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
    const int64_t extent_down = *te::as_constant(reduction.axes[tile.row_axis].extent),
                  rows = (extent_down + tile.row_period - 1) / tile.row_period;
    const int64_t tiles = (rows + tile.rows - 1) / tile.rows;
    peels = extent_down % (tile.rows * tile.row_period) != 0 && tiles > 1;
    const int64_t element = lanes_bytes(reduction),
                  most = kHeldBytes / (width * element) / tile.rows;  // tiles of results that stay in cache
    if (tile.row_period == 1 && window_size * width * element > kPanelBytes && tiles * iterations(image) > 1 &&
        most > 1)
      blocks = block_window(window, kPanelBytes / (width * element));
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
    for (int64_t results = tiles;
         !blocks.empty() && pieces == 1 && !image.empty() && results * extent(image.back()) <= most;) {
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
  const bool has_part =
      *te::as_constant(reduction.axes[tile.vector_axis].extent) % width != 0 && extent((*across)[0]) > 1;
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
  const bool is_long = count_operations(block(store).bodies[0]) > kLongEpilogue;
  if (!schedule_.reverse_compute_at(store, outer.back()).ok() ||
      !schedule_.set_scope(registers, blocks.empty() && phases.empty() && !is_long ? "registers" : "cache").ok())
    return false;
  if (tile.pads) (void)tried(schedule_.pad(computing, tile.vector_axis));
  if (const LoopIds& reducing = blocks.empty() ? window : blocks; !reducing.empty())
    (void)tried(schedule_.decompose_reduction(computing, reducing.front()));
  if (tile.vector_axis + 1 != static_cast<int>(rank)) {
    std::vector<int> dims;
    for (size_t k = 0; k < rank; ++k)
      if (static_cast<int>(k) != tile.vector_axis) dims.push_back(static_cast<int>(k));
    dims.push_back(tile.vector_axis);
    (void)tried(schedule_.transform_layout(registers, fmt::format("{}", fmt::join(dims, ":"))));
  }
  lay_out_initialization(computing);
  if (!tensorize(inner)) return false;
  const bool skips = tile.may_skip && tried(schedule_.skip_padding(computing));
  if (tile.may_skip && window_size > kSmallWindow)
    for (const int source : loads(block(computing)))
      (void)tried(schedule_.skip_border(computing, kernel().buffers[source].name));
  if (is_small)
    for (const LoopId loop : window) (void)tried(schedule_.unroll(loop));
  store_tile(store, tile, is_long);
  if (blocks.empty()) prefetch(store);
  if (!held.empty() && (peels || skips) && extent(held.back()) > 1) (void)tried(schedule_.peel(held.back(), "last"));
  if (!held.empty() && skips && extent(held.back()) > 1) (void)tried(schedule_.peel(held.back(), "first"));
  if (peels_part) (void)tried(schedule_.peel((*across)[0], "last"));
  parallelize({outer.begin(), outer.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(shared, 1))}, work);
  return true;
}

bool Scheduler::factors_are_constant(const Block& reduction) const {
  const auto* product = te::as<te::Binary>(reduction.bodies[0]);
  if (!product || product->op != te::BinaryOp::kMul) return true;
  for (const Expr& factor : {product->left, product->right}) {
    const auto* load = te::as<te::Load>(factor);
    if (load && writers(kernel(), load->buffer.index).empty() && constant(load->buffer.index)) return true;
  }
  return false;
}

LoopIds Scheduler::block_window(LoopIds& window, int64_t steps) {
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

int64_t Scheduler::pieces_of(int64_t tiles, int64_t outer) const {
  const int64_t wanted = 8 * machine_.threads;
  if (machine_.threads < 2 || outer >= wanted || outer % machine_.threads == 0) return 1;
  for (int64_t pieces = 2; pieces <= std::min(tiles, 8 * wanted); ++pieces)
    if (tiles % pieces == 0 && (outer * pieces >= wanted || outer * pieces % machine_.threads == 0)) return pieces;
  return 1;
}

void Scheduler::lay_out_initialization(const std::string& computing) {
  const auto loops = schedule_.loops(computing + ".init");
  if (!loops.ok()) return;
  const auto around = schedule_.loops(computing);
  LoopIds own;
  for (const LoopId loop : *loops)
    if (std::find(around->begin(), around->end(), loop) == around->end() &&
        (loop == loops->back() || extent(loop) <= kMostRows))
      own.push_back(loop);
  if (!own.empty()) (void)write_out(own);
}

bool Scheduler::write_out(const LoopIds& loops) {
  for (size_t k = 0; k + 1 < loops.size(); ++k) (void)tried(schedule_.unroll(loops[k]));
  return tried(schedule_.vectorize(loops.back()));
}

bool Scheduler::tensorize(const LoopIds& loops) {
  Integers extents;
  for (const LoopId loop : loops) extents.push_back(extent(loop));
  return tried(schedule_.tensorize(loops.front(), tile_name(machine_.vectors, extents)));
}

void Scheduler::store_tile(const std::string& name, const Tile& tile, bool is_long) {
  const LoopIds loops = *schedule_.loops(name);
  const size_t rank = block(name).axes.size();
  const LoopIds own(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
  LoopIds order;
  for (size_t k = 0; k < rank; ++k)
    if (static_cast<int>(k) != tile.vector_axis) order.push_back(own[k]);
  order.push_back(own[tile.vector_axis]);
  if (order != own) (void)tried(schedule_.reorder(order));
  const auto parts =
      schedule_.split(own[tile.vector_axis], is_long ? Integers{1, tile.width()} : Integers{tile.vectors, tile.lanes});
  if (!parts.ok()) return;
  for (size_t k = 0; k + 1 < rank; ++k)
    if (extent(order[k]) <= tile.rows && !is_long) (void)tried(schedule_.unroll(order[k]));
  (void)tried(schedule_.unroll((*parts)[0]));
  (void)tried(schedule_.vectorize((*parts)[1]));
}

void Scheduler::prefetch(const std::string& store) {
  const Block map = block(store);
  const auto results = points(map);
  const auto read = loads(map);
  const bool reads_others = std::any_of(read.begin(), read.end(), [&](int buffer) {
    return kernel().buffers[buffer].scope == Scope::kArgument && !constant(buffer) &&
           element_count(kernel().buffers[buffer].shape).constant() >= results;
  });
  const LoopIds loops = *schedule_.loops(store);
  if (reads_others) (void)tried(schedule_.annotate(loops[loops.size() - map.axes.size() - 1], kPrefetch, 1));
}

void Scheduler::schedule_step(const std::string& name) {
  const Block step = block(name);
  const LoopIds loops = inner_loops(name);
  if (loops.size() != step.axes.size() + step.reduce.size() || step.writes.size() != 1 || step.bodies.size() != 1)
    return;
  if (!step.is_reduction()) return vectorize(loops.back(), step);
  const Schedule before = schedule_;
  packs_constants_only_ = true;
  Tile tile = tiler().choose(step, extents(step), stored_strides(step));
  if (tile.vector_axis < 0 || !pack(name, tile) || !lay_out_inside(name, tile, loops)) schedule_ = before;
  packs_constants_only_ = false;
}

bool Scheduler::lay_out_inside(const std::string& name, const Tile& tile, const LoopIds& loops) {
  if (tile.row_period > 1) return false;
  const size_t rank = block(name).axes.size();
  const int64_t columns = extent(loops[tile.vector_axis]), lines = tile.row_axis < 0 ? 0 : extent(loops[tile.row_axis]);
  const auto across = schedule_.split(loops[tile.vector_axis], Integers{-1, tile.vectors, tile.lanes});
  if (!across.ok()) return false;
  LoopIds order, inner, down;
  for (size_t k = 0; k < rank; ++k)
    if (static_cast<int>(k) != tile.vector_axis && static_cast<int>(k) != tile.row_axis && loops[k] != LoopId())
      order.push_back(loops[k]);
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
  if (!tensorize(inner)) return false;
  if (!down.empty() && lines % tile.rows != 0 && lines > tile.rows) (void)tried(schedule_.peel(down[0], "last"));
  if (columns % tile.width() != 0) (void)tried(schedule_.peel((*across)[0], "last"));
  return true;
}

}  // namespace isomer::kernel
