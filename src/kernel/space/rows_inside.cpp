#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/rows.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

bool reduces(const Expr& e) { return te::as<te::Var>(e) && te::as<te::Var>(e)->kind == te::VarKind::kReduce; }

/// Whether from step to step other data say what is read: samples of an image are no rows that pass by.
bool samples(const Block& reduction) {
  const auto is_place = [](const Expr& e) { return te::as<te::Load>(e) && te::any_node(e, reduces); };
  const auto is_sample = [&](const Expr& e) {
    const auto* load = te::as<te::Load>(e);
    return load && std::ranges::any_of(load->index, [&](const Expr& index) { return te::any_node(index, is_place); });
  };
  return std::ranges::any_of(reduction.bodies, [&](const Expr& body) { return te::any_node(body, is_sample); });
}

/// The load by which a reduction alone reads whole rows that other blocks make.
std::optional<LoadAccess> rows_read(const View& view, const Block& reduction) {
  if (samples(reduction)) return std::nullopt;
  for (const LoadAccess& access : load_accesses(view.kernel(), reduction)) {
    const auto makers = writers(view.kernel(), access.buffer);
    const auto& index = te::as<te::Load>(access.load)->index;
    if (makers.size() != 1 || !view.is_alone(makers[0]) || view.is_known(makers[0]) ||
        is_output(view.kernel(), access.buffer) || readers(view.kernel(), access.buffer).size() != 1)
      continue;
    if (std::count_if(index.begin(), index.end(), reduces) == 1) return access;
  }
  return std::nullopt;
}

/// Whether the rows lie along the results' last axis, which other results share their elements with: vectors could run
/// along neither then, results apart being summed up in memory.
bool are_columns(const View& view, const Block& reduction, const LoadAccess& rows) {
  const Strides strides = write_strides(view.kernel(), reduction);
  bool last = false, others = false;
  for (size_t k = 0; k < reduction.axes.size(); ++k) {
    if (view.extent(view.loops(reduction.name)[k]) <= 1) continue;
    if (rows.axes[k] != 0 && strides[k] == 1) last = true;
    if (rows.axes[k] == 0) others = true;
  }
  return last && others;
}

/// How many of the rows a block has: at most `most`, in blocks of one size if that can be.
int64_t rows_of_block(int64_t rows, int64_t most) {
  if (rows <= most) return rows;
  most = std::max<int64_t>(most, kMostRows);
  for (int64_t size = std::min(most, rows); 2 * size > most; --size)
    if (rows % size == 0) return size;
  return std::min(most, rows);
}

void lay_out_block(Builder& builder, const std::string& name, LoopId around) {
  const View& view = builder.view;
  const Block each = view.block(name);
  const LoopIds loops = view.inner_loops(name, around);
  if (!each.is_reduction()) return vectorize(builder, loops.back(), name);
  // What is left of each axis inside; one that has no loop is a point there.
  LoopIds own;
  Integers extents;
  for (const auto* list : {&each.axes, &each.reduce})
    for (const Iterator& iterator : *list) {
      const auto moves = variables(iterator.binding);
      const auto loop =
          std::find_if(loops.begin(), loops.end(), [&](LoopId id) { return moves.contains(id.variable); });
      own.push_back(loop == loops.end() ? LoopId() : *loop);
      if (list == &each.axes) extents.push_back(loop == loops.end() ? 1 : view.extent(*loop));
    }
  const Schedule before = builder.schedule;
  const Tiled reduction{name, extents, write_strides(view.kernel(), each), false, true};
  Tile tile = choose_tile(builder, reduction);
  if (tile.vector_axis >= 0 && pack(builder, reduction, tile) && lay_out_inside(builder, name, tile, own)) return;
  builder.schedule = before;
  vectorize_reduction(builder, name);
}

/// The axis of which blocks are made: what is read beside the rows serves all of a block; -1: there is none.
int axis_of_blocks(const View& view, const Block& last, const LoadAccess& rows) {
  const LoopIds loops = view.loops(last.name);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), last);
  int found = -1;
  for (int k = 0; k < static_cast<int>(last.axes.size()); ++k) {
    if (rows.axes[k] == 0) continue;
    const bool shares = std::any_of(accesses.begin(), accesses.end(),
                                    [&](const LoadAccess& a) { return a.buffer != rows.buffer && a.axes[k] == 0; });
    if (shares && view.extent(loops[k]) > 1) found = k;
  }
  return found;
}

/// Of so many rows, those of a block.
int64_t decide_block_rows(Builder& builder, const Block& last, const LoadAccess& rows, int64_t count) {
  int64_t length = 1;
  for (size_t k = 0; k < last.reduce.size(); ++k)
    if (rows.reduce[k] != 0) length *= te::as_constant(last.reduce[k].extent).value_or(0);
  const int64_t row_bytes = std::max<int64_t>(length, 1) * builder.view.lane_bytes(last);
  const int64_t preferred = rows_of_block(count, row_block_bytes(builder.machine()) / row_bytes);
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= count && size <= 4 * preferred; size += std::max<int64_t>(1, size / 4))
    sizes.push_back(size);
  if (std::find(sizes.begin(), sizes.end(), preferred) == sizes.end()) sizes.push_back(preferred);
  return builder.decide(last.name, "block_rows", std::move(sizes), preferred);
}

/// One loop over the axes of the rows and blocks of them, around all else of the block; nothing: it can't be.
std::optional<LoopId> divide_rows(Builder& builder, const Block& last, const LoadAccess& rows) {
  Schedule& schedule = builder.schedule;
  const LoopIds loops = builder.view.loops(last.name);
  const int down = axis_of_blocks(builder.view, last, rows);
  LoopIds outer, inner;
  for (int k = 0; k < static_cast<int>(last.axes.size()); ++k)
    if (k != down) (rows.axes[k] == 0 ? inner : outer).push_back(loops[k]);
  if (down >= 0) {
    const int64_t block_rows = decide_block_rows(builder, last, rows, builder.view.extent(loops[down]));
    const LoopIds parts = *schedule.split(loops[down], Integers{-1, block_rows});
    outer.push_back(parts[0]);
    inner.insert(inner.begin(), parts[1]);
  }
  if (outer.empty()) return std::nullopt;
  LoopIds order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), loops.begin() + static_cast<std::ptrdiff_t>(last.axes.size()), loops.end());
  if (!schedule.reorder(order).ok()) return std::nullopt;
  const auto fused = outer.size() == 1 ? Result<LoopId>(outer[0]) : schedule.fuse(outer);
  return fused.ok() ? std::optional(*fused) : std::nullopt;
}

/// Puts other blocks into the loop where not much is computed again, and adds what they compute to `work`: which they
/// are, in order.
std::vector<std::string> move_inside(Builder& builder, const std::string& name, LoopId around, int64_t& work) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  std::vector<std::string> all = schedule.blocks(), inside;
  all.erase(std::find(all.begin(), all.end(), name), all.end());
  for (auto producer = all.rbegin(); producer != all.rend(); ++producer) {
    const auto made = points(view.block(*producer));
    const Schedule moved_from = schedule;
    if (!view.is_alone(*producer) || view.is_known(*producer) || !made || !schedule.compute_at(*producer, around).ok())
      continue;
    if (view.iterations(view.loops(*producer)) > *made + *made / 4) {
      schedule = moved_from;
      continue;
    }
    work += *made;
    inside.insert(inside.begin(), *producer);
  }
  return inside;
}

/// axes of the rows, one loop | blocks of rows | all that makes the rows, what is left of the reduction
bool lay_out_rows(Builder& builder, const std::string& name, const LoadAccess& rows) {
  const View& view = builder.view;
  const Block last = view.block(name);
  const auto work = points(last);
  if (!work || *work == 0) return false;
  const auto around = divide_rows(builder, last, rows);
  if (!around) return false;
  int64_t sum = *work;
  std::vector<std::string> inside = move_inside(builder, name, *around, sum);
  if (std::none_of(inside.begin(), inside.end(),
                   [&](const std::string& b) { return writers(view.kernel(), rows.buffer).front() == b; }))
    return false;
  inside.push_back(name);
  for (const std::string& each : inside) lay_out_block(builder, each, *around);
  parallelize(builder, name, {*around}, sum);
  return true;
}

}  // namespace

Module rows_inside() {
  return {"rows_inside",
          [](const View& view, const std::string& name) {
            if (!view.is_free_reduction(name) || view.block(name).writes.size() != 1) return false;
            const auto rows = rows_read(view, view.block(name));
            return rows && !are_columns(view, view.block(name), *rows);
          },
          [](Builder& builder, const std::string& name) {
            if (!builder.decide(name, "rows_inside", true)) return;
            const Schedule before = builder.schedule;
            if (!lay_out_rows(builder, name, *rows_read(builder.view, builder.view.block(name))))
              builder.schedule = before;
          }};
}

}  // namespace isomer::kernel
