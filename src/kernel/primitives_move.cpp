#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// Every loop around the blocks that write what `block` reads stands around the body of `place`'s loop as well: what
/// the block reads is there when that body runs.
Result<void> check_sources_reach(Kernel& kernel, const Block& block, const Place& place) {
  std::set<int> around = {place.loop().variable};
  for (const Loop* loop : place.loops()) around.insert(loop->variable);
  for (const int source : loads(block))
    for (const std::string& writer : writers(kernel, source)) {
      if (writer == block.name) continue;
      TRY(const Place at, find_block(kernel, writer));
      for (const Loop* loop : at.loops())
        if (kernel.buffers[source].scope != Scope::kArgument && !around.contains(loop->variable))
          return invalid(block.name, "sources that reach {} expected, '{}' is computed in {}",
                         text(LoopId{place.loop().variable}), kernel.buffers[source].name,
                         text(LoopId{loop->variable}));
    }
  return {};
}

/// The ranges of the loop, what is around it, and (new) loops of the moved block.
LoopRanges ranges_at(const Place& place) {
  LoopRanges ranges;
  for (const Loop* loop : place.loops()) ranges.enter(*loop);
  ranges.enter(place.loop());
  return ranges;
}

/// The loop and those around it whose iterations are threads.
std::vector<const Loop*> threads_at(const Place& place) {
  std::vector<const Loop*> threads;
  for (const Loop* loop : place.loops())
    if (is_thread(loop->kind)) threads.push_back(loop);
  if (is_thread(place.loop().kind)) threads.push_back(&place.loop());
  return threads;
}

/// `block` with new loops over the spans of its axes and the whole of its reduction.
Statement over_spans(Kernel& kernel, Block block, const Region& axes, LoopRanges ranges) {
  std::vector<Expr> extents;
  for (const Span& span : axes) extents.push_back(span.extent);
  for (const Iterator& iterator : block.reduce) extents.push_back(iterator.extent);
  const int first = kernel.next_variable;
  for (size_t k = 0; k < extents.size(); ++k) ranges.enter(first + static_cast<int>(k), extents[k]);
  return under_loops(kernel, extents, [&](const std::vector<Expr>& variables) {
    block.predicate = {};
    for (size_t k = 0; k < axes.size(); ++k) {
      Iterator& axis = block.axes[k];
      axis.binding = te::simplify_index(axes[k].minimum + variables[k], ranges.ranges());
      block.predicate = both(block.predicate, in_range(axis.binding, axis.extent, ranges.ranges()));
    }
    for (size_t k = 0; k < block.reduce.size(); ++k) block.reduce[k].binding = variables[axes.size() + k];
    return std::move(block);
  });
}

/// A moved block runs over spans of its axes and its whole reduction: its predicate may say no more than that.
Result<void> check_predicate(const Block& block) {
  Expr rest = block.predicate;
  for (const auto* list : {&block.axes, &block.reduce})
    for (const Iterator& iterator : *list) rest = without_bound(rest, iterator);
  if (rest) return invalid(block.name, "a predicate that only bounds its iterators expected");
  return {};
}

bool free_to_move(const Place& place) {
  for (const Statement* ancestor : place.ancestors) {
    const auto* loop = std::get_if<Loop>(&ancestor->node);
    if (!loop || loop->ordered || loop->body.size() != 1) return false;
  }
  return true;
}

/// By dim of what a block writes, the axis that is its index there, each axis once; empty: it writes otherwise.
std::vector<size_t> axis_order(const Block& block, const Write& write) {
  std::vector<size_t> order;
  for (const Expr& index : write.index) {
    const auto* variable = te::as<te::Var>(index);
    if (!variable || variable->kind != te::VarKind::kSpatial) return {};
    order.push_back(static_cast<size_t>(variable->index));
  }
  const bool is_permutation = std::set<size_t>(order.begin(), order.end()).size() == order.size();
  return is_permutation && order.size() == block.axes.size() ? order : std::vector<size_t>();
}

/// What the statements load from, or write to.
std::set<int> touched(const Statements& statements, bool writes) {
  std::set<int> buffers;
  for_each_block(statements,
                 [&](const Block& block, const auto&) { buffers.merge(writes ? stores(block) : loads(block)); });
  return buffers;
}

/// Whether all elements of a reduction take part in its first step, which gives them their first value.
bool begins_everywhere(const Block& block, const LoopRanges& ranges) {
  if (!block.is_reduction() || !block.initialize) return false;
  std::map<int, Expr> first;
  for (const Iterator& iterator : block.reduce)
    for (const int variable : variables(iterator.binding))
      if (!reads_any(block.axes, variable)) first.emplace(variable, te::index(0));
  return te::as_constant(te::simplify_index(substitute(block.predicate, first), ranges.ranges())) == 1;
}

/// Without what runs under conditions: branches, and predicates that say more than that iterators are below their
/// extents.
Statements unconditional(const Statements& statements, LoopRanges& ranges) {
  Statements kept;
  for (const Statement& statement : statements) {
    if (const auto* block = std::get_if<Block>(&statement.node)) {
      if (check_predicate(*block).ok() || begins_everywhere(*block, ranges)) kept.push_back(statement);
    } else if (const auto* loop = std::get_if<Loop>(&statement.node)) {
      Loop copy(loop->variable, loop->extent, loop->ordered);
      ranges.enter(*loop);
      copy.body = unconditional(loop->body, ranges);
      ranges.leave(*loop);
      if (!copy.body.empty()) kept.push_back({std::move(copy)});
    }
  }
  return kept;
}

bool holds(const Region& outer, const Region& inner) {
  for (size_t k = 0; k < inner.size(); ++k) {
    const auto from = te::as_constant(te::simplify_index(inner[k].minimum - outer[k].minimum));
    const auto length = te::as_constant(inner[k].extent), there = te::as_constant(outer[k].extent);
    if (!from || !length || !there || *from < 0 || *from + *length > *there) return false;
  }
  return outer.size() == inner.size();
}

/// The first reduction of the loop's body that one of these variables goes on with; nothing: all are complete there.
std::optional<std::string> unfinished_in(const Loop& loop, const std::set<int>& around) {
  std::optional<std::string> unfinished;
  for_each_block(loop.body, [&](const Block& inner, const auto&) {
    for (const Iterator& iterator : inner.reduce)
      for (const int variable : variables(iterator.binding))
        if (around.contains(variable)) unfinished = inner.name;
  });
  return unfinished;
}

bool stands_in(const Place& at, const Place& loop) {
  return std::find(at.ancestors.begin(), at.ancestors.end(), &loop.statement()) != at.ancestors.end();
}

/// The one axis_order of all that a block writes: it alone, at its axes, to buffers that are no outputs.
Result<std::vector<size_t>> order_of_writes(const Kernel& kernel, const Block& block) {
  std::vector<size_t> order = axis_order(block, block.writes.front());
  for (const Write& write : block.writes) {
    const Buffer& buffer = kernel.buffers[write.buffer];
    if (is_output(kernel, write.buffer))
      return invalid(block.name, "a buffer that is no output expected, '{}' is one", buffer.name);
    if (writers(kernel, write.buffer).size() != 1)
      return invalid(block.name, "the only writer of '{}' expected, there are others", buffer.name);
    if (axis_order(block, write) != order || (order.empty() && !block.axes.empty()))
      return invalid(block.name, "elements of '{}' written at its axes expected, in one order", buffer.name);
  }
  return order;
}

/// What a block runs over that follows the writes of a loop's body.
class FollowingRegion {
 public:
  FollowingRegion(const Kernel& kernel, const Block& block, const Loop& loop)
      : kernel_(kernel), block_(block), loop_(loop), is_bound_(block.axes.size(), false) {
    for (const Iterator& axis : block.axes) region_.push_back({te::index(0), axis.extent});
  }

  /// Axes that index what the body writes run over what it writes, the others over all. Nothing: the block reads none
  /// of that.
  Result<std::optional<Region>> of(const std::set<int>& written) {
    bool follows = false;
    for (const Expr& body : block_.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        const auto* load = te::as<te::Load>(e);
        if (!load || !written.contains(load->buffer.index)) return;
        follows = true;
        follow(*load);
      });
    if (error_) return *std::move(error_);
    return follows ? std::optional(std::move(region_)) : std::nullopt;
  }

 private:
  void follow(const te::Load& load) {
    const Buffer& buffer = kernel_.buffers[load.buffer.index];
    const Region span = region_of(kernel_, loop_.body, load.buffer.index, Access::kWrite);
    if (!writes_whole_region(kernel_, loop_.body, load.buffer.index))
      error_ = invalid(block_.name, "all elements of a region of '{}' written inside {} expected, some are left out",
                       buffer.name, text(LoopId{loop_.variable}));
    for (size_t j = 0; j < load.index.size(); ++j) {
      const Dim& length = buffer.shape[j];
      if (length.is(1)) continue;
      const auto* variable = te::as<te::Var>(load.index[j]);
      if (variable && variable->kind == te::VarKind::kSpatial) {
        bind(variable->index, buffer, length, span[j]);
      } else if (!(span[j].minimum == te::index(0) && span[j].extent == length.expr())) {
        error_ = invalid(block_.name, "indices of '{}' that are axes expected", buffer.name);
      }
    }
  }

  /// The axis indexes a dim of that length.
  void bind(int axis, const Buffer& buffer, const Dim& length, const Span& span) {
    // Elements of the result that read nothing of the source are computed as well.
    if (!(block_.axes[axis].extent == length.expr()))
      error_ =
          invalid(block_.name, "an axis {} as long as '{}' expected, a select may choose beyond", axis, buffer.name);
    if (is_bound_[axis] && !(region_[axis].minimum == span.minimum && region_[axis].extent == span.extent))
      error_ = invalid(block_.name, "sources of one region expected, axis {} reads two", axis);
    is_bound_[axis] = true;
    region_[axis] = span;
  }

  const Kernel& kernel_;
  const Block& block_;
  const Loop& loop_;
  Region region_;
  std::vector<bool> is_bound_;
  std::optional<Error> error_;  ///< the last one
};

/// Of what a block reads, all writers of buffers that the loop writes stand in it.
Result<void> check_writers_inside(Kernel& kernel, const Block& block, const std::set<int>& written, const Place& loop) {
  for (const int source : loads(block)) {
    if (!written.contains(source)) continue;
    for (const std::string& writer : writers(kernel, source)) {
      TRY(const Place at, find_block(kernel, writer));
      if (!stands_in(at, loop))
        return invalid(block.name, "all that writes '{}' inside {} expected, {} is not", kernel.buffers[source].name,
                       text(LoopId{loop.loop().variable}), writer);
    }
  }
  return {};
}

/// What else a block reads is complete before the nest that the loop is in.
Result<void> check_others_complete(Kernel& kernel, const Block& block, const std::set<int>& written,
                                   const Place& loop) {
  const int variable = loop.loop().variable;
  TRY(const Place first, find_loop(kernel, loop.loops().empty() ? variable : loop.loops().front()->variable));
  std::optional<std::string> anchor;
  for_each_block(first.statement(), [&](const Block& inner, const auto&) {
    if (!anchor) anchor = inner.name;
  });
  for (const int source : loads(block))
    if (!written.contains(source) && !written_before(kernel, source, *anchor))
      return invalid(block.name, "sources that are complete before {} expected, '{}' is not", text(LoopId{variable}),
                     kernel.buffers[source].name);
  return {};
}

}  // namespace

Result<void> compute_at(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  Block block = place.block();
  if (!free_to_move(place)) return invalid(name, "a block alone in its loops expected, other statements stand there");
  TRY_VOID(check_predicate(block));
  TRY(const std::vector<size_t> order, order_of_writes(kernel, block));
  std::set<int> written;
  for (const Write& write : block.writes) written.insert(write.buffer);
  {
    TRY(const Place target, find_loop(kernel, id.variable));
    for (const Statement* ancestor : target.ancestors)
      if (ancestor == place.root())
        return invalid(name, "a loop outside the block's own expected, {} is inside", text(id));
    TRY_VOID(check_sources_reach(kernel, block, target));
  }
  remove(kernel, place);
  TRY(const Place target, find_loop(kernel, id.variable));
  Loop& loop = target.loop();
  if (loop.kind == LoopKind::kVectorized || loop.kind == LoopKind::kUnrolled)
    return invalid(text(id), "a serial or parallel loop expected");

  const size_t none = loop.body.size();
  size_t position = none;
  Region region;
  for (const int buffer : written) {
    for (const std::string& reader : readers(kernel, buffer)) {
      TRY(const Place at, find_block(kernel, reader));
      if (!stands_in(at, target))
        return invalid(name, "all readers of '{}' inside {} expected, {} is not", kernel.buffers[buffer].name, text(id),
                       reader);
    }
    for (size_t i = loop.body.size(); i-- > 0;)
      if (touches(loop.body[i], buffer)) position = std::min(position, i);
    const auto threads =
        kernel.buffers[buffer].scope == Scope::kShared ? threads_at(target) : std::vector<const Loop*>();
    const Region read = region_of(kernel, loop.body, buffer, Access::kRead, threads);
    for (size_t k = 0; k < read.size(); ++k) {
      if (region.size() < read.size()) {
        region = read;
        break;
      }
      region[k] = united(region[k], read[k]).value_or(Span{te::index(0), block.axes[order[k]].extent});
    }
  }
  if (position == none) return invalid(name, "readers inside {} expected, there are none", text(id));
  Region axes = region;
  for (size_t k = 0; k < order.size(); ++k) axes[order[k]] = region[k];
  Statement moved = over_spans(kernel, std::move(block), axes, ranges_at(target));
  loop.body.insert(loop.body.begin() + static_cast<std::ptrdiff_t>(position), std::move(moved));
  for (const int buffer : written)
    if (Scope& scope = kernel.buffers[buffer].scope; scope != Scope::kShared) scope = Scope::kCache;
  return {};
}

Result<void> reverse_compute_at(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  Block block = place.block();
  if (!free_to_move(place)) return invalid(name, "a block alone in its loops expected, other statements stand there");
  TRY_VOID(check_predicate(block));
  if (block.is_reduction()) return invalid(name, "a map expected, it is a reduction");
  TRY(const Place target, find_loop(kernel, id.variable));
  Loop& loop = target.loop();
  if (loop.kind == LoopKind::kVectorized || loop.kind == LoopKind::kUnrolled)
    return invalid(text(id), "a serial or parallel loop expected");
  if (target.root() == place.root())
    return invalid(name, "a loop of another nest expected, {} is of its own", text(id));

  // Reductions below are complete after the loop's body only where no loop around it runs over them.
  std::set<int> around = {id.variable};
  for (const Loop* outer : target.loops()) around.insert(outer->variable);
  const std::set<int> written = touched(loop.body, true);
  if (const auto unfinished = unfinished_in(loop, around))
    return invalid(name, "reductions that end inside {} expected, {} goes on", text(id), *unfinished);

  TRY(const std::optional<Region> region, FollowingRegion(kernel, block, loop).of(written));
  TRY_VOID(check_writers_inside(kernel, block, written, target));
  if (!region) return invalid(name, "a reader of what {} writes expected, it reads none of that", text(id));
  TRY_VOID(check_others_complete(kernel, block, written, target));

  remove(kernel, place);
  TRY(const Place destination, find_loop(kernel, id.variable));
  Statement moved = over_spans(kernel, std::move(block), *region, ranges_at(destination));
  destination.loop().body.push_back(std::move(moved));
  return {};
}

Result<void> join(Kernel& kernel, LoopId first_id, LoopId second_id) {
  TRY(const Place first, find_loop(kernel, first_id.variable));
  TRY(const Place second, find_loop(kernel, second_id.variable));
  const std::string name = text(first_id);
  if (first.list != second.list || first.position >= second.position)
    return invalid(name, "a loop that stands in front of {} in one body expected", text(second_id));
  const Loop &one = first.loop(), &other = second.loop();
  for (const Loop* loop : {&one, &other})
    if (loop->kind != LoopKind::kSerial || loop->ordered)
      return invalid(text(LoopId{loop->variable}), "a serial loop whose order doesn't matter expected");
  if (!(one.extent == other.extent) || !te::as_constant(one.extent))
    return invalid(name, "a loop of as many iterations as {} expected", text(second_id));

  std::set<int> around = {one.variable};
  for (const Loop* outer : first.loops()) around.insert(outer->variable);
  if (const auto unfinished = unfinished_in(one, around))
    return invalid(name, "reductions that end inside of it expected, {} goes on", *unfinished);
  Loop renamed = other;
  rewrite_expressions(renamed.body,
                      [&](const Expr& e) { return substitute(e, {{other.variable, loop_variable(one.variable)}}); });
  const std::set<int> written = touched(one.body, true), read = touched(one.body, false),
                      written_then = touched(renamed.body, true), read_then = touched(renamed.body, false);
  for (const int buffer : written_then)
    if (written.contains(buffer) || read.contains(buffer))
      return invalid(name, "'{}' touched by one of the loops expected, both do", kernel.buffers[buffer].name);
  LoopRanges ranges;
  for (const Loop* outer : first.loops()) ranges.enter(*outer);
  ranges.enter(one);
  const Statements certain = unconditional(one.body, ranges);
  for (const int buffer : read_then) {
    if (!written.contains(buffer)) continue;
    const Region made = region_of(kernel, certain, buffer, Access::kWrite);
    if (made.empty() || !writes_whole_region(kernel, certain, buffer) ||
        !holds(made, region_of(kernel, renamed.body, buffer, Access::kRead)))
      return invalid(name, "iterations of {} that read of '{}' what the same one has written expected", text(second_id),
                     kernel.buffers[buffer].name);
  }
  for (size_t k = first.position + 1; k < second.position; ++k) {
    const Statements between = {(*first.list)[k]};
    for (const int buffer : touched(between, true))
      if (read.contains(buffer) || written.contains(buffer))
        return invalid(name, "nothing between the loops that changes '{}' expected", kernel.buffers[buffer].name);
    for (const int buffer : touched(between, false))
      if (written.contains(buffer))
        return invalid(name, "nothing between the loops that reads '{}' expected", kernel.buffers[buffer].name);
  }

  Loop joined = one;
  for (Statement& statement : renamed.body) joined.body.push_back(std::move(statement));
  second.statement().node = std::move(joined);
  first.list->erase(first.list->begin() + static_cast<std::ptrdiff_t>(first.position));
  return {};
}

}  // namespace isomer::kernel::primitives
