#include <algorithm>

#include "kernel/default_scheduler.h"

namespace isomer::kernel {
namespace {

/// Elements of a row of intermediate results that a core's own cache holds.
constexpr int64_t kRowElements = 65'536;
/// Steps of a reduction from which on threads share it.
constexpr int64_t kLongReduction = 262'144;

}  // namespace

void Scheduler::share_reduction(const std::string& name) {
  const Block reduction = block(name);
  const LoopIds loops = *schedule_.loops(name);
  const int64_t work = points(reduction).value_or(0),
                results =
                    iterations({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(reduction.axes.size())}),
                threads = machine_.threads;
  if (threads < 2 || work < kLongReduction || results >= 4 * threads) return;
  for (size_t k = reduction.axes.size(); k < loops.size(); ++k)
    for (int64_t parts = 4 * threads; parts >= threads; --parts) {
      if (extent(loops[k]) % parts != 0) continue;
      const auto partial = schedule_.split_k(name, loops[k], parts);
      if (!partial.ok()) continue;
      schedule_tiles(*partial);
      if (alone(*partial)) schedule_rows(*partial);
      return;
    }
}

void Scheduler::schedule_rows(const std::string& name) {
  const Block reduction = block(name);
  const auto work = points(reduction);
  if (!work || *work == 0) return;
  vectorize_reduction(name);
  const LoopIds loops = *schedule_.loops(name);
  parallelize({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(reduction.axes.size())}, *work);
}

void Scheduler::vectorize_reduction(const std::string& name) {
  const Block reduction = block(name);
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), reduction);
  int along = -1;
  for (size_t k = 0; k < reduction.reduce.size(); ++k) {
    const bool contiguous = std::all_of(accesses.begin(), accesses.end(),
                                        [&](const LoadAccess& a) { return a.reduce[k] == 1 || a.reduce[k] == 0; });
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
    if (const auto vectors = partial_results(name, schedule_.loops(name)->back(), narrow))
      (void)tried(schedule_.unroll(*vectors));
  }
  (void)tried(schedule_.unroll(schedule_.loops(name)->back()));
}

std::optional<LoopId> Scheduler::partial_results(const std::string& name, LoopId loop, int64_t width) {
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
  if (const auto initial = schedule_.decompose_reduction(*partial, order.front()); initial.ok())
    (void)tried(schedule_.vectorize(schedule_.loops(*initial)->back()));
  (void)tried(schedule_.vectorize((*parts)[1]));
  return (*parts)[0];
}

bool Scheduler::follows_reduction(const std::string& name) const {
  if (!alone(name)) return false;
  const Block each = block(name);
  if (each.is_reduction()) return true;
  for (const int buffer : loads(each))
    for (const std::string& maker : writers(kernel(), buffer))
      if (maker != name && follows_reduction(maker)) return true;
  return false;
}

size_t Scheduler::row_axes(const Block& map) const {
  size_t rows = map.axes.size();
  bool reads_reduction = false;
  te::for_each_node(map.bodies[0], [&](const Expr& e) {
    const auto* load = te::as<te::Load>(e);
    if (!load) return;
    const auto makers = writers(kernel(), load->buffer.index);
    if (makers.size() != 1 || !follows_reduction(makers[0])) return;
    reads_reduction = true;
    size_t leading = 0;
    while (leading < rows &&
           std::find(load->index.begin(), load->index.end(), te::axis(static_cast<int>(leading))) != load->index.end())
      ++leading;
    rows = leading;
  });
  return reads_reduction && rows < map.axes.size() ? rows : 0;
}

void Scheduler::schedule_row_group(const std::string& name, size_t rows, int64_t work) {
  LoopIds loops = *schedule_.loops(name);
  LoopIds outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rows));
  const LoopId row = rows == 1 ? outer[0] : *schedule_.fuse(outer);
  std::vector<std::string> earlier = schedule_.blocks();
  earlier.erase(std::find(earlier.begin(), earlier.end(), name), earlier.end());
  std::vector<std::string> moved;
  for (auto producer = earlier.rbegin(); producer != earlier.rend(); ++producer)
    if (alone(*producer) && moved_to_row(*producer, row)) moved.push_back(*producer);
  vectorize((*schedule_.loops(name)).back(), block(name));
  for (auto producer = moved.rbegin(); producer != moved.rend(); ++producer) {
    const Block inner = block(*producer);
    if (inner.is_reduction()) {
      vectorize_reduction(*producer);
    } else {
      vectorize((*schedule_.loops(*producer)).back(), inner);
    }
  }
  parallelize({row}, work * static_cast<int64_t>(1 + moved.size()));
}

bool Scheduler::moved_to_row(const std::string& name, LoopId row) {
  const Schedule before = schedule_;
  const auto work = points(block(name));
  if (!work || !schedule_.compute_at(name, row).ok()) return false;
  if (iterations(*schedule_.loops(name)) <= *work && *work / std::max<int64_t>(extent(row), 1) <= kRowElements)
    return true;
  schedule_ = before;
  return false;
}

std::optional<LoadAccess> Scheduler::rows_read(const Block& reduction) const {
  for (const LoadAccess& access : load_accesses(kernel(), reduction)) {
    const auto makers = writers(kernel(), access.buffer);
    const auto& index = te::as<te::Load>(access.load)->index;
    const auto reduces = [](const Expr& e) {
      return te::as<te::Var>(e) && te::as<te::Var>(e)->kind == te::VarKind::kReduce;
    };
    if (makers.size() != 1 || !alone(makers[0]) || is_output(kernel(), access.buffer) ||
        readers(kernel(), access.buffer).size() != 1)
      continue;
    if (std::count_if(index.begin(), index.end(), reduces) == 1) return access;
  }
  return std::nullopt;
}

void Scheduler::schedule_rows_inside(const std::string& name) {
  const Block last = block(name);
  const auto rows = rows_read(last);
  if (!rows || last.writes.size() != 1) return;
  const Schedule before = schedule_;
  if (!lay_out_rows_inside(name, last, *rows)) schedule_ = before;
}

bool Scheduler::lay_out_rows_inside(const std::string& name, const Block& last, const LoadAccess& rows) {
  const auto work = points(last);
  const LoopIds loops = *schedule_.loops(name);
  if (!work || *work == 0) return false;
  const std::vector<LoadAccess> accesses = load_accesses(kernel(), last);
  LoopIds outer, inner;
  int down = -1;  // the axis of which blocks are made: what is read beside the rows serves all of a block
  for (int k = 0; k < static_cast<int>(last.axes.size()); ++k) {
    if (rows.axes[k] == 0) continue;
    const bool shares = std::any_of(accesses.begin(), accesses.end(),
                                    [&](const LoadAccess& a) { return a.buffer != rows.buffer && a.axes[k] == 0; });
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
  if (std::none_of(inside.begin(), inside.end(),
                   [&](const std::string& b) { return writers(kernel(), rows.buffer).front() == b; }))
    return false;
  inside.push_back(name);
  for (const std::string& each : inside) schedule_inside(each, *fused);
  parallelize({*fused}, sum);
  return true;
}

int64_t Scheduler::rows_of_block(int64_t rows, int64_t most) {
  if (rows <= most) return rows;
  most = std::max<int64_t>(most, kMostRows);
  for (int64_t size = std::min(most, rows); 2 * size > most; --size)
    if (rows % size == 0) return size;
  return std::min(most, rows);
}

void Scheduler::schedule_inside(const std::string& name, LoopId around) {
  const Block each = block(name);
  const LoopIds loops = inner_loops(name, around);
  if (!each.is_reduction()) return vectorize(loops.back(), each);
  // What is left of each axis inside; one that has no loop is a point there.
  LoopIds own;
  Integers extents;
  for (const auto* list : {&each.axes, &each.reduce})
    for (const Iterator& iterator : *list) {
      const auto moves = variables(iterator.binding);
      const auto loop =
          std::find_if(loops.begin(), loops.end(), [&](LoopId id) { return moves.contains(id.variable); });
      own.push_back(loop == loops.end() ? LoopId() : *loop);
      if (list == &each.axes) extents.push_back(loop == loops.end() ? 1 : extent(*loop));
    }
  const Schedule before = schedule_;
  Tile tile = tiler().choose(each, extents, write_strides(kernel(), each));
  if (tile.vector_axis >= 0 && pack(name, tile) && lay_out_inside(name, tile, own)) return;
  schedule_ = before;
  vectorize_reduction(name);
}

}  // namespace isomer::kernel
