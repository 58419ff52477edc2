#include <algorithm>

#include "kernel/launch.h"
#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

constexpr int64_t kMaxUnrolled = 4096;  ///< iterations of one loop; far beyond any instruction cache

Result<Place> find_serial_loop(Kernel& kernel, LoopId id) {
  TRY(Place place, find_loop(kernel, id.variable));
  if (place.loop().kind != LoopKind::kSerial)
    return invalid(text(id), "a serial loop expected, it is parallel, vectorized or unrolled");
  if (place.loop().annotations.contains(kMicroKernel))
    return invalid(text(id), "a loop expected that no micro-kernel computes");
  return place;
}

Result<Place> find_free_loop(Kernel& kernel, LoopId id) {
  TRY(Place place, find_serial_loop(kernel, id));
  if (place.loop().ordered)
    return invalid(text(id), "a loop of independent iterations expected, its order is its meaning");
  return place;
}

Result<int64_t> constant_extent(const Loop& loop) {
  const auto extent = te::as_constant(loop.extent);
  if (!extent) return invalid(text(LoopId{loop.variable}), "a constant extent expected, data decide it");
  return *extent;
}

/// Puts `statements` under loops of these variables and extents.
Statement nest(const std::vector<std::pair<int, Expr>>& loops, Statements statements) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    Loop outer(loop->first, loop->second);
    outer.body.swap(statements);
    statements.push_back({std::move(outer)});
  }
  return std::move(statements.front());
}

/// So many loops of a nest.
void mark_overlapping(Statement& outermost, size_t count) {
  Statement* at = &outermost;
  for (size_t k = 0; k < count; ++k) {
    auto& loop = std::get<Loop>(at->node);
    loop.annotations[kOverlaps] = 1;
    at = loop.body.data();
  }
}

void add_predicate(Statements& statements, const Expr& condition) {
  for (Statement& statement : statements)
    std::visit(te::Overloaded{
                   [&](Block& block) { block.predicate = block.predicate ? block.predicate && condition : condition; },
                   [&](Loop& loop) { add_predicate(loop.body, condition); },
                   [&](Branch& branch) {
                     add_predicate(branch.then, condition);
                     add_predicate(branch.otherwise, condition);
                   },
                   [&](While& loop) { loop.condition = loop.condition && condition; }, [](Resize&) {}, [](Barrier&) {}},
               statement.node);
}

/// The loops of a chain: each, but the first, the only statement in the loop before.
Result<std::vector<Place>> chain(Kernel& kernel, const LoopIds& ids,
                                 Result<Place> (*find)(Kernel&, LoopId) = find_free_loop) {
  std::vector<Place> places;
  for (const LoopId id : ids) {
    TRY(Place place, find(kernel, id));
    places.push_back(std::move(place));
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.ancestors.size() < b.ancestors.size(); });
  for (size_t i = 1; i < places.size(); ++i) {
    const Place &outer = places[i - 1], &inner = places[i];
    const std::string name = text(LoopId{inner.loop().variable});
    const auto found = std::find(inner.ancestors.begin(), inner.ancestors.end(), &outer.statement());
    if (found == inner.ancestors.end())
      return invalid(name, "loops of one nest expected, it is not inside {}", text(LoopId{outer.loop().variable}));
    for (auto ancestor = found; ancestor != inner.ancestors.end(); ++ancestor) {
      const auto* loop = std::get_if<Loop>(&(*ancestor)->node);
      if (!loop || loop->body.size() != 1)
        return invalid(name, "loops with nothing between them expected, other statements stand there");
    }
  }
  return places;
}

/// An error where a block below runs a reduction over the loop.
Result<void> check_spatial(const Loop& loop, std::string_view use) {
  std::optional<std::string> reducing;
  for_each_block(loop.body, [&](const Block& block, const auto&) {
    if (reads_any(block.reduce, loop.variable)) reducing = block.name;
  });
  if (reducing)
    return invalid(text(LoopId{loop.variable}), "a loop over axes expected to be {}, {} reduces over it", use,
                   *reducing);
  return {};
}

/// An error where a block below reduces over the loop, but for one that does so between the lanes of a warp.
Result<void> check_bound(const Loop& loop) {
  Result<void> result;
  for_each_block(loop.body, [&](const Block& block, const auto&) {
    if (!reads_any(block.reduce, loop.variable)) return;
    if (const auto why = why_not_between_lanes(block, loop))
      result = invalid(text(LoopId{loop.variable}), "a loop over axes expected to be bound, {} reduces over it: {}",
                       block.name, *why);
  });
  return result;
}

Result<void> check_no_kind_below(const Loop& loop, LoopKind kind, std::string_view what) {
  for (const Statement& statement : loop.body)
    if (const auto* inner = std::get_if<Loop>(&statement.node)) {
      if (inner->kind == kind)
        return invalid(text(LoopId{loop.variable}), "no {} loop inside expected, {} is one", what,
                       text(LoopId{inner->variable}));
      TRY_VOID(check_no_kind_below(*inner, kind, what));
    }
  return {};
}

/// An error where several iterations write one element of memory that is not their own.
Result<void> check_writes_apart(const Kernel& kernel, const Loop& loop) {
  std::optional<std::string> shared;
  for_each_block(loop.body, [&](const Block& block, const auto&) {
    const bool writes_arguments = std::any_of(block.writes.begin(), block.writes.end(), [&](const Write& w) {
      return kernel.buffers[w.buffer].scope == Scope::kArgument;
    });
    if (writes_arguments && !reads_any(block.axes, loop.variable)) shared = block.name;
  });
  if (!shared) return {};
  return invalid(text(LoopId{loop.variable}),
                 "iterations that write different elements expected, {} writes the same ones in each", *shared);
}

/// The statements of the loop around this one can take turns: none finds in memory of its thread what another one left
/// there.
Result<void> check_turns(const Kernel& kernel, const Place& place) {
  const auto* turns = std::get_if<Loop>(&place.ancestors[0]->node);
  if (place.ancestors.size() > 1 || !turns || !turns->ordered || !te::as_constant(turns->extent))
    return invalid(text(LoopId{place.loop().variable}),
                   "an outermost loop, or one of the statements of an ordered one expected, it stands elsewhere");
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    const auto uses = std::count_if(turns->body.begin(), turns->body.end(),
                                    [&](const Statement& s) { return touches(s, static_cast<int>(b)); });
    if (uses > 1)
      return invalid(text(LoopId{place.loop().variable}),
                     "statements without a thread's own memory in common expected, '{}' is", kernel.buffers[b].name);
  }
  return {};
}

/// The iterations of a loop can be blocks of threads: nothing stands beside it, and they write different elements.
Result<void> check_grid(const Kernel& kernel, const Place& place, LoopKind kind) {
  const LoopId id{place.loop().variable};
  for (const Statement* ancestor : place.ancestors) {
    const auto* outer = std::get_if<Loop>(&ancestor->node);
    const bool takes_turns = outer && outer->ordered && ancestor == place.ancestors.front();
    if (!outer || (!takes_turns && (!is_block(outer->kind) || outer->body.size() != 1)))
      return invalid(text(id), "nothing but loops over blocks around expected");
    if (outer->kind == kind)
      return invalid(text(id), "one loop a nest expected to be {}, {} is one", name(kind),
                     text(LoopId{outer->variable}));
  }
  TRY_VOID(check_no_kind_below(place.loop(), kind, name(kind)));
  if (te::as_constant(place.loop().extent) == 1) return {};
  return check_writes_apart(kernel, place.loop());
}

/// Iterations along an axis, at most (CUDA C++ Programming Guide, compute capability 5.0 and later).
int64_t most_of(LoopKind axis) {
  switch (axis) {
    case LoopKind::kBlockX: return 0x7fffffff;
    case LoopKind::kBlockY:
    case LoopKind::kBlockZ: return 65535;
    case LoopKind::kThreadX:
    case LoopKind::kThreadY: return 1024;
    case LoopKind::kThreadZ: return 64;
    default: return 0;
  }
}

/// Reductions that don't hold their first step any more don't initialize.
void drop_initializations(Statements& statements, LoopRanges& ranges) {
  for (Statement& statement : statements) {
    if (auto* block = std::get_if<Block>(&statement.node))
      for (const Iterator& iterator : block->reduce)
        block->initialize = block->initialize && te::bounds(iterator.binding, ranges.ranges()).low.value_or(0) <= 0;
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    ranges.enter(*loop);
    drop_initializations(loop->body, ranges);
    ranges.leave(*loop);
  }
}

/// Reads and writes `to` in place of `from`.
void replace_buffer(const Kernel& kernel, Statements& statements, int from, int to) {
  map_accesses(kernel, statements, from, [&](const std::vector<Expr>& index) { return Write{to, index}; });
}

/// Uses of a buffer by blocks below.
int64_t count_uses(const Statements& statements, int buffer) {
  int64_t count = 0;
  for_each_block(statements, [&](const Block& block, const auto&) {
    count += loads(block).contains(buffer) + stores(block).contains(buffer);
  });
  return count;
}

/// A reduction starts with its first step: where a loop runs over axes and the reduction at once, another order would
/// not. Where its steps may not change places, loops over it keep theirs.
Result<void> check_reduction_order(const Loop& outermost, const LoopIds& ids) {
  std::optional<Error> error;
  for_each_block(outermost.body, [&](const Block& block, const auto&) {
    if (!block.is_reduction()) return;
    int64_t reducing = 0;
    for (const LoopId id : ids) {
      if (!reads_any(block.reduce, id.variable)) continue;
      ++reducing;
      if (block.initialize && reads_any(block.axes, id.variable))
        error =
            invalid(text(id), "a loop over axes or a reduction alone expected, in {} it runs over both", block.name);
    }
    if (reducing > 1 && !block.combine.commutative)
      error = invalid(block.name, "a reduction whose steps may change places expected");
  });
  if (error) return std::move(*error);
  return {};
}

/// Whether what the block writes, and reads again, lies in one place of some dim for each element of its axis.
bool stays_in_place(const Block& block, const Expr& axis) {
  return std::ranges::all_of(block.writes, [&](const Write& write) {
    for (size_t dim = 0; dim < write.index.size(); ++dim) {
      bool stays = write.index[dim] == axis;
      for (const Expr& body : block.bodies)
        te::for_each_node(body, [&](const Expr& e) {
          const auto* load = te::as<te::Load>(e);
          stays = stays && (!load || load->buffer.index != write.buffer || load->index[dim] == axis);
        });
      if (stays) return true;
    }
    return false;
  });
}

/// Whether the places of a block that differ in this loop may take its steps one after the other.
bool steps_are_apart(const Block& block, const Loop& loop) {
  if (block.is_reduction() || loop.annotations.contains(kOverlaps)) return false;
  const auto reads = [&](const Expr& e) { return depends_on(e, loop.variable); };
  if (std::ranges::any_of(block.bodies, reads)) return false;
  for (const Write& write : block.writes)
    if (std::ranges::any_of(write.index, reads)) return false;
  for (size_t k = 0; k < block.axes.size(); ++k)
    if (reads(block.axes[k].binding) && !stays_in_place(block, te::axis(static_cast<int>(k)))) return false;
  return true;
}

/// The block that a loop is around, with nothing but loops between; nullptr: there are other statements.
const Block* block_inside(const Loop& loop) {
  if (loop.body.size() != 1) return nullptr;
  const auto* inner = std::get_if<Loop>(&loop.body.front().node);
  return inner ? block_inside(*inner) : std::get_if<Block>(&loop.body.front().node);
}

/// The loops in these places come to stand in the order of `ids`: ordered ones keep theirs, and no other one passes an
/// ordered one where its iterations need each other's steps.
Result<void> check_steps(const std::vector<Place>& places, const LoopIds& ids) {
  std::vector<const Loop*> before, after;
  for (size_t k = places.front().ancestors.size(); k < places.back().ancestors.size(); ++k)
    before.push_back(&std::get<Loop>(places.back().ancestors[k]->node));
  before.push_back(&places.back().loop());
  const auto of = [&](LoopId id) {
    return *std::ranges::find_if(before, [&](const Loop* loop) { return loop->variable == id.variable; });
  };
  size_t moved = 0;
  for (const Loop* loop : before) {
    const bool moves = std::ranges::any_of(places, [&](const Place& place) { return &place.loop() == loop; });
    after.push_back(moves ? of(ids[moved++]) : loop);
  }
  // The ordered loops around each one, and around the whole.
  const auto around = [](const std::vector<const Loop*>& nest, const Loop* end) {
    std::vector<const Loop*> result;
    for (const Loop* loop : nest) {
      if (loop == end) break;
      if (loop->ordered) result.push_back(loop);
    }
    return result;
  };
  const LoopId outermost{before.front()->variable};
  if (around(before, nullptr) != around(after, nullptr))
    return invalid(text(outermost), "ordered loops in the order that they have expected");
  for (const Loop* loop : before) {
    if (loop->ordered || around(before, loop) == around(after, loop)) continue;
    const Block* block = block_inside(*before.back());
    if (!block || !steps_are_apart(*block, *loop))
      return invalid(text(LoopId{loop->variable}),
                     "one map inside expected, whose steps read of what it writes only their own place");
  }
  return {};
}

/// An error where iterations may not be computed twice.
Result<void> check_repeatable(const Loop& loop) {
  const LoopId id{loop.variable};
  int64_t count = 0;
  Result<void> result;
  for_each_block(loop.body, [&](const Block& block, const auto&) {
    ++count;
    const std::set<int> read = loads(block);
    const bool reads_own = std::ranges::any_of(stores(block), [&](int written) { return read.contains(written); });
    if (reads_own || (block.is_reduction() && !block.initialize))
      result = invalid(text(id), "a block that starts anew expected, {} goes on with what it wrote", block.name);
  });
  if (count != 1) return invalid(text(id), "a loop around one block expected, {} are in it", count);
  return result;
}

/// The loop's body for one value of its variable, with names and (where only the loop uses them) buffers of its own.
Statements copy_of_body(Kernel& kernel, const Place& place, const std::string& suffix, const Expr& value) {
  const Loop& loop = std::get<Loop>(place.statement().node);
  std::map<int, int> own;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const int buffer = static_cast<int>(b);
    if (kernel.buffers[b].scope == Scope::kArgument || !touches(place.statement(), buffer)) continue;
    if (count_uses(loop.body, buffer) == count_uses(kernel.body, buffer)) own.emplace(buffer, -1);
  }
  for (auto& [buffer, copy] : own) {
    Buffer made = kernel.buffers[buffer];
    made.name = fresh_buffer_name(kernel, made.name + suffix);
    copy = static_cast<int>(kernel.buffers.size());
    kernel.buffers.push_back(std::move(made));
  }
  Statements apart = loop.body;
  std::map<int, Expr> renamed = {{loop.variable, value}};
  for (const auto& [buffer, copy] : own) replace_buffer(kernel, apart, buffer, copy);
  rename_copy(kernel, apart, suffix, renamed);
  rewrite_expressions(apart, [&](const Expr& e) { return te::simplify_data(substitute(e, renamed)); });
  return apart;
}

/// Selects that always choose the same are gone.
void decide_selects(Statements& statements, LoopRanges& ranges) {
  for (Statement& statement : statements) {
    if (auto* loop = std::get_if<Loop>(&statement.node)) {
      ranges.enter(*loop);
      decide_selects(loop->body, ranges);
      ranges.leave(*loop);
    }
    auto* block = std::get_if<Block>(&statement.node);
    if (!block) continue;
    const std::function<Expr(const Expr&)> decided = [&](const Expr& e) -> Expr {
      const auto* select = te::as<te::Select>(e);
      if (!select) return {};
      const Expr condition = te::simplify_index(bind_iterators(*block, select->condition), ranges.ranges());
      if (condition == te::truth(true)) return te::transform(select->then, decided);
      if (condition == te::truth(false)) return te::transform(select->otherwise, decided);
      return {};
    };
    for (Expr& body : block->bodies) body = te::transform(body, decided);
  }
}

}  // namespace

Result<LoopIds> split(Kernel& kernel, LoopId id, const Integers& factors) {
  TRY(Place place, find_free_loop(kernel, id));
  const Expr length = place.loop().extent;
  const auto known = te::as_constant(length);
  const int64_t extent = known.value_or(0);
  int64_t product = 1;
  int inferred = -1;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == -1 && inferred < 0) {
      inferred = static_cast<int>(i);
    } else if (factors[i] < 1 || __builtin_mul_overflow(product, factors[i], &product)) {
      return invalid(text(id), "factors of at least 1, one of them -1 at most, expected, {} found", factors[i]);
    }
  }
  if (factors.empty() || factors.size() > 64)
    return invalid(text(id), "1 to 64 factors expected, {} found", factors.size());
  if (!known && inferred != 0) return invalid(text(id), "-1 as the first factor expected, data decide the extent");
  std::vector<Expr> extents;
  for (const int64_t factor : factors) extents.push_back(te::index(factor));
  if (!known) {
    extents[0] = te::simplify_index(te::floor_div(length + (product - 1), te::index(product)));
  } else if (inferred >= 0) {
    const int64_t needed = std::max<int64_t>(extent / product + (extent % product != 0), 1);
    if (__builtin_mul_overflow(product, needed, &product))
      return invalid(text(id), "less than 2^63 iterations expected");
    extents[static_cast<size_t>(inferred)] = te::index(needed);
  }
  if (product < extent)
    return invalid(text(id), "factors whose product is at least {} expected, {} found", extent, product);

  LoopIds created;
  std::vector<std::pair<int, Expr>> loops;
  Expr position = te::index(0);
  LoopRanges ranges;
  for (size_t k = 0; k < extents.size(); ++k) {
    created.push_back({kernel.next_variable++});
    loops.emplace_back(created.back().variable, extents[k]);
    ranges.enter(created.back().variable, extents[k]);
    position = (k == 0 ? te::index(0) : position * extents[k]) + loop_variable(created.back().variable);
  }
  position = te::simplify_index(position, ranges.ranges());
  Statements body = std::move(place.loop().body);
  rewrite_expressions(body, [&](const Expr& e) { return substitute(e, {{id.variable, position}}); });
  if (known ? product != extent : product > 1) add_predicate(body, position < length);
  const bool overlaps = place.loop().annotations.contains(kOverlaps);
  place.statement() = nest(loops, std::move(body));
  if (overlaps) mark_overlapping(place.statement(), created.size());
  return created;
}

Result<LoopId> fuse(Kernel& kernel, const LoopIds& ids) {
  if (ids.empty()) return invalid("fuse", "loops expected, none found");
  TRY(const std::vector<Place> places, chain(kernel, ids));
  const Expr first = places.front().loop().extent;
  const bool is_known = te::as_constant(first).has_value();
  int64_t product = 1;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].loop().variable != ids[i].variable)
      return invalid(text(ids[i]), "loops in the order of their nest expected");
    if (i > 0 && places[i].list != &places[i - 1].loop().body)
      return invalid(text(ids[i]), "loops of one nest without others between expected");
    if (i == 0 && !is_known) continue;
    TRY(const int64_t extent, constant_extent(places[i].loop()));
    if (__builtin_mul_overflow(product, extent, &product))
      return invalid(text(ids[i]), "less than 2^63 iterations expected");
  }
  const LoopId created{kernel.next_variable++};
  std::map<int, Expr> replacements;
  Expr rest = loop_variable(created.variable);
  int64_t outer = product;
  for (size_t i = places.size(); i-- > (is_known ? 0 : 1);) {
    const int64_t extent = *te::as_constant(places[i].loop().extent);
    outer /= std::max<int64_t>(extent, 1);
    replacements.emplace(ids[i].variable, extent == 1              ? te::index(0)
                                          : outer == 1 && is_known ? rest
                                                                   : te::floor_mod(rest, te::index(extent)));
    if (extent != 1) rest = te::floor_div(rest, te::index(extent));
  }
  if (!is_known) replacements.emplace(ids[0].variable, rest);
  const bool overlaps =
      std::ranges::any_of(places, [](const Place& place) { return place.loop().annotations.contains(kOverlaps); });
  Statements body = std::move(places.back().loop().body);
  rewrite_expressions(body, [&](const Expr& e) { return substitute(e, replacements); });
  const Expr extent = is_known ? te::index(product) : te::simplify_index(first * product);
  places.front().statement() = nest({{created.variable, extent}}, std::move(body));
  if (overlaps) mark_overlapping(places.front().statement(), 1);
  return created;
}

Result<void> reorder(Kernel& kernel, const LoopIds& ids) {
  TRY(const std::vector<Place> places, chain(kernel, ids, find_serial_loop));
  for (const Place& place : places)
    for (const LoopId other : ids)
      if (depends_on(place.loop().extent, other.variable))
        return invalid(text(LoopId{place.loop().variable}),
                       "an extent that none of the loops decides expected, {} does", text(other));
  if (!places.empty()) {
    TRY_VOID(check_reduction_order(places.front().loop(), ids));
    TRY_VOID(check_steps(places, ids));
  }
  std::map<int, Loop> heads;
  for (const Place& place : places) {
    const Loop& loop = place.loop();
    heads[loop.variable] = Loop(loop.variable, loop.extent, loop.ordered);
    heads[loop.variable].annotations = loop.annotations;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const Loop& head = heads.at(ids[i].variable);
    Loop& loop = places[i].loop();
    loop.variable = head.variable;
    loop.extent = head.extent;
    loop.ordered = head.ordered;
    loop.annotations = head.annotations;
  }
  return {};
}

Result<void> parallel(Kernel& kernel, LoopId id) {
  TRY(Place place, find_free_loop(kernel, id));
  if (!place.ancestors.empty()) TRY_VOID(check_turns(kernel, place));
  TRY_VOID(constant_extent(place.loop()));
  TRY_VOID(check_spatial(place.loop(), "parallel"));
  TRY_VOID(check_writes_apart(kernel, place.loop()));
  place.loop().kind = LoopKind::kParallel;
  return {};
}

Result<void> vectorize(Kernel& kernel, LoopId id) {
  TRY(Place place, find_free_loop(kernel, id));
  TRY(const int64_t extent, constant_extent(place.loop()));
  if (extent > 64) return invalid(text(id), "at most 64 vector lanes expected, {} found", extent);
  TRY_VOID(check_spatial(place.loop(), "vectorized"));
  if (!lanes_of_tile(place.loop())) TRY_VOID(check_no_kind_below(place.loop(), LoopKind::kVectorized, "vectorized"));
  for (const Loop* outer : place.loops())
    if (outer->kind == LoopKind::kVectorized)
      return invalid(text(id), "no vectorized loop around expected, {} is one", text(LoopId{outer->variable}));
  place.loop().kind = LoopKind::kVectorized;
  return {};
}

Result<void> unroll(Kernel& kernel, LoopId id) {
  TRY(Place place, find_free_loop(kernel, id));
  TRY(const int64_t extent, constant_extent(place.loop()));
  if (extent > kMaxUnrolled)
    return invalid(text(id), "at most {} iterations to write out expected, {} found", kMaxUnrolled, extent);
  place.loop().kind = LoopKind::kUnrolled;
  return {};
}

Result<void> bind(Kernel& kernel, LoopId id, const std::string& axis) {
  const auto* const kind =
      std::find_if(kBoundKinds.begin(), kBoundKinds.end(), [&](LoopKind k) { return name(k) == axis; });
  if (kind == kBoundKinds.end())
    return invalid(text(id), "an axis from 'block.x' to 'thread.z' expected, '{}' found", axis);
  TRY(Place place, find_free_loop(kernel, id));
  TRY(const int64_t extent, constant_extent(place.loop()));
  if (const int64_t most = most_of(*kind); extent < 1 || extent > most)
    return invalid(text(id), "1 to {} iterations expected to be {}, {} found", most, axis, extent);
  Loop bound = place.loop();
  bound.kind = *kind;
  TRY_VOID(check_bound(bound));
  for (const Loop* outer : place.loops())
    if (is_written_out(outer->kind))
      return invalid(text(id), "no {} loop around expected, {} is one", name(outer->kind),
                     text(LoopId{outer->variable}));
  if (is_block(*kind)) TRY_VOID(check_grid(kernel, place, *kind));
  place.loop().kind = *kind;
  return {};
}

Result<void> peel(Kernel& kernel, LoopId id, const std::string& iteration) {
  if (iteration != "first" && iteration != "last")
    return invalid(text(id), "the iteration 'first' or 'last' expected, '{}' found", iteration);
  const bool is_first = iteration == "first";
  TRY(Place place, find_free_loop(kernel, id));
  TRY(const int64_t extent, constant_extent(place.loop()));
  if (extent < 2) return invalid(text(id), "at least 2 iterations expected, {} found", extent);
  Statements apart = copy_of_body(kernel, place, is_first ? ".head" : ".tail", te::index(is_first ? 0 : extent - 1));
  place.loop().extent = te::index(extent - 1);
  if (is_first)
    rewrite_expressions(place.loop().body, [&](const Expr& e) {
      return te::simplify_index(substitute(e, {{id.variable, loop_variable(id.variable) + 1}}));
    });
  LoopRanges ranges;
  for (const Loop* loop : place.loops()) ranges.enter(*loop);
  drop_initializations(apart, ranges);
  ranges.enter(place.loop());
  drop_initializations(place.loop().body, ranges);
  const auto at = place.list->begin() + static_cast<std::ptrdiff_t>(place.position) + (is_first ? 0 : 1);
  place.list->insert(at, std::make_move_iterator(apart.begin()), std::make_move_iterator(apart.end()));
  return {};
}

Result<LoopId> partition(Kernel& kernel, LoopId id, int64_t at) {
  TRY(Place place, find_free_loop(kernel, id));
  TRY(const int64_t extent, constant_extent(place.loop()));
  if (at < 1 || at >= extent)
    return invalid(text(id), "a first iteration of the second part between 1 and {} expected, {} found", extent - 1,
                   at);
  Loop rest(kernel.next_variable++, te::index(extent - at));
  rest.annotations = place.loop().annotations;
  rest.body = copy_of_body(kernel, place, ".rest", loop_variable(rest.variable) + at);
  place.loop().extent = te::index(at);
  LoopRanges ranges;
  for (const Loop* loop : place.loops())
    if (loop != &place.loop()) ranges.enter(*loop);
  for (Loop* part : {&place.loop(), &rest}) {
    ranges.enter(*part);
    drop_initializations(part->body, ranges);
    decide_selects(part->body, ranges);
    ranges.leave(*part);
  }
  const LoopId made{rest.variable};
  place.list->insert(place.list->begin() + static_cast<std::ptrdiff_t>(place.position) + 1, Statement{std::move(rest)});
  return made;
}

Result<LoopIds> shift_inwards(Kernel& kernel, LoopId id, const Integers& sizes) {
  TRY(Place place, find_free_loop(kernel, id));
  const Expr extent = place.loop().extent;
  if (const auto known = te::as_constant(extent))
    return invalid(text(id), "a loop whose extent data decide expected, it has {} iterations", *known);
  if (sizes.empty() || sizes.size() > 4) return invalid(text(id), "one to four sizes expected, {} found", sizes.size());
  for (size_t k = 0; k < sizes.size(); ++k)
    if (sizes[k] < 1 || sizes[k] > (k == 0 ? kMaxUnrolled : sizes[k - 1] - 1))
      return invalid(text(id), "tiles of 1 to {} iterations, each smaller than the last, expected, {} found",
                     kMaxUnrolled, sizes[k]);
  TRY_VOID(check_spatial(place.loop(), "shifted inwards"));
  TRY_VOID(check_repeatable(place.loop()));

  const int64_t least = sizes.back();
  const Expr is_short = extent < te::index(least);
  LoopIds created;
  Expr done = te::index(0);
  const auto body_at = [&](const Expr& position) {
    if (done == te::index(0)) {
      Statements body = place.loop().body;
      rewrite_expressions(body, [&](const Expr& e) { return substitute(e, {{id.variable, position}}); });
      return body;
    }
    return copy_of_body(kernel, place, ".rest", position);
  };
  // They stand before the loop, which goes in the end: copies have names that are new.
  const auto insert = [&](Loop loop) {
    place.list->insert(place.list->begin() + static_cast<std::ptrdiff_t>(place.position++), Statement{std::move(loop)});
  };
  for (const int64_t size : sizes) {
    const Expr left = te::simplify_index(extent - done);
    Loop tiles(kernel.next_variable++,
               size == least ? te::select(is_short, te::index(0), te::floor_div(left + (size - 1), te::index(size)))
                             : te::floor_div(left, te::index(size)));
    Loop inside(kernel.next_variable++, te::index(size));
    created.insert(created.end(), {{tiles.variable}, {inside.variable}});
    const Expr begin = done + loop_variable(tiles.variable) * size;
    inside.body = body_at((size == least ? te::min(begin, extent - size) : begin) + loop_variable(inside.variable));
    if (size == least) tiles.annotations[kOverlaps] = 1;
    done = te::simplify_index(done + te::floor_div(left, te::index(size)) * size);
    tiles.body.push_back({std::move(inside)});
    insert(std::move(tiles));
  }
  Loop once(kernel.next_variable++, te::select(is_short, te::index(1), te::index(0)));
  Loop rest(kernel.next_variable++, extent);
  created.push_back({rest.variable});
  rest.body = body_at(loop_variable(rest.variable));
  once.body.push_back({std::move(rest)});
  insert(std::move(once));
  place.list->erase(place.list->begin() + static_cast<std::ptrdiff_t>(place.position));
  return created;
}

Result<void> annotate(Kernel& kernel, LoopId id, const std::string& key, int64_t value) {
  TRY(Place place, find_loop(kernel, id.variable));
  place.loop().annotations[key] = value;
  return {};
}

}  // namespace isomer::kernel::primitives
