#include <algorithm>
#include <utility>

#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

std::set<int> variables_of(const std::vector<Iterator>& iterators) {
  std::set<int> result;
  for (const Iterator& iterator : iterators) result.merge(variables(iterator.binding));
  return result;
}

/// The parts of a conjunction that read only these variables.
Expr restricted(const Expr& condition, const std::set<int>& allowed) {
  if (!condition) return {};
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd)
    return both(restricted(e->left, allowed), restricted(e->right, allowed));
  for (const int variable : variables(condition))
    if (!allowed.contains(variable)) return {};
  return condition;
}

/// The loop `id` and those between it and the block.
std::vector<Loop*> loops_from(const Place& place, LoopId id) {
  std::vector<Loop*> loops = place.loops();
  const auto first =
      std::find_if(loops.begin(), loops.end(), [&](const Loop* loop) { return loop->variable == id.variable; });
  return {first, loops.end()};
}

/// In another real type, as far as it consists of sums and products: what these are made of is converted. Selects stay
/// whole: they are those of paddings, which a copy of the operand holds (cache_read).
Expr widened(const Expr& e, DataType type) {
  if (const auto* b = te::as<te::Binary>(e);
      b && (b->op == te::BinaryOp::kMul || b->op == te::BinaryOp::kAdd || b->op == te::BinaryOp::kSub))
    return te::binary(b->op, widened(b->left, type), widened(b->right, type));
  if (const auto* u = te::as<te::Unary>(e); u && u->op == te::UnaryOp::kNeg) return -widened(u->operand, type);
  if (const auto* literal = te::as<te::Literal>(e)) return te::literal(literal->value, type);
  return te::cast(type, e);
}

Statements nested(std::vector<Loop> loops, Statements statements) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body = std::exchange(statements, {});
    statements.push_back({std::move(*loop)});
  }
  return statements;
}

Statement nested(std::vector<Loop> loops, Block block) {
  Statements alone;
  alone.push_back({std::move(block)});
  return std::move(nested(std::move(loops), std::move(alone)).front());
}

/// A reduction over a loop, which is done last: partial results by the block, and behind the reduction's outermost loop
/// a block that combines them.
class Factoring {
 public:
  Factoring(Kernel& kernel, const Place& place, LoopId id)
      : kernel_(kernel),
        block_(place.block()),
        id_(id),
        reducing_(variables_of(block_.reduce)),
        spatial_(variables_of(block_.axes)),
        around_(place.loops()) {}

  /// The name of the block that makes the partial results.
  Result<std::string> apply() {
    TRY_VOID(check());
    TRY_VOID(add_loops_over_axes());
    TRY_VOID(check_first_step());
    Block partial = partial_results(), last = combination();
    pass_on(partial, last);
    const std::string created = partial.name;
    block_ = std::move(partial);
    TRY(const Place before, find_loop(kernel_, around_[outermost_]->variable));
    before.list->insert(before.list->begin() + static_cast<std::ptrdiff_t>(before.position) + 1,
                        nested(std::move(loops_), std::move(last)));
    return created;
  }

 private:
  Result<void> check() {
    const std::string& name = block_.name;
    if (!block_.is_reduction() || !block_.initialize)
      return invalid(name, "a reduction with its initialization expected");
    if (!block_.combine.commutative) return invalid(name, "a commutative reduction expected");
    TRY(const Place factored, find_loop(kernel_, id_.variable));
    const auto extent = te::as_constant(factored.loop().extent);
    if (!extent) return invalid(text(id_), "a constant extent expected, data decide it");
    extent_ = *extent;
    if (!reducing_.contains(id_.variable) || spatial_.contains(id_.variable))
      return invalid(text(id_), "a loop over the reduction alone expected");
    for (const Write& write : block_.writes) {
      if (write.index != te::axes(static_cast<int>(block_.axes.size())))
        return invalid(name, "element axis(0), axis(1)… written expected");
      if (writers(kernel_, write.buffer).size() != 1)
        return invalid(name, "the only writer of '{}' expected, there are others", kernel_.buffers[write.buffer].name);
    }
    return {};
  }

  /// For the block behind, which shares the loops outside the reduction's outermost one.
  Result<void> add_loops_over_axes() {
    const auto outermost = std::find_if(around_.begin(), around_.end(),
                                        [&](const Loop* loop) { return reducing_.contains(loop->variable); });
    outermost_ = static_cast<size_t>(outermost - around_.begin());
    for (auto loop = around_.begin(); loop != outermost; ++loop) visible_.insert((*loop)->variable);
    for (auto loop = outermost; loop != around_.end(); ++loop) {
      if ((*loop)->body.size() != 1)
        return invalid(block_.name, "a block alone in the loops of its reduction expected");
      const bool over_axes = spatial_.contains((*loop)->variable);
      if (over_axes && reducing_.contains((*loop)->variable))
        return invalid(text(LoopId{(*loop)->variable}),
                       "a loop over axes or over the reduction expected, it runs over both");
      if (!over_axes) continue;
      loops_.emplace_back(kernel_.next_variable++, (*loop)->extent);
      renamed_.emplace((*loop)->variable, loop_variable(loops_.back().variable));
      visible_.insert((*loop)->variable);
    }
    return {};
  }

  /// Every partial result needs its initialization, which the first step of the loops that are left does.
  Result<void> check_first_step() const {
    std::map<int, Expr> first;
    LoopRanges ranges;
    for (const Loop* loop : around_) {
      ranges.enter(*loop);
      if (reducing_.contains(loop->variable) && loop->variable != id_.variable)
        first.emplace(loop->variable, te::index(0));
    }
    if (block_.predicate &&
        depends_on(te::simplify_index(substitute(block_.predicate, first), ranges.ranges()), id_.variable))
      return invalid(text(id_), "a loop all of whose iterations take part in the reduction's first step expected");
    return {};
  }

  /// Over one more axis. The reduction that is left runs over its loops themselves: the first of them is where all are
  /// 0, as the first values of the old iterators depend on the new axis.
  Block partial_results() const {
    Block partial = block_;
    partial.name = fresh_block_name(kernel_, block_.name + ".partial");
    std::map<int, Expr> iterators = {{id_.variable, te::axis(0)}};
    partial.axes.insert(partial.axes.begin(), {te::index(extent_), loop_variable(id_.variable)});
    partial.reduce.clear();
    for (const Loop* loop : around_) {
      if (!reducing_.contains(loop->variable) || loop->variable == id_.variable) continue;
      iterators.emplace(loop->variable, te::reduce_axis(static_cast<int>(partial.reduce.size())));
      partial.reduce.push_back({loop->extent, loop_variable(loop->variable)});
    }
    const auto in_loops = [&](const Expr& binding) {
      return te::transform(binding, [&](const Expr& e) -> Expr {
        const auto* loop = te::as<te::Var>(e);
        return loop && loop->kind == te::VarKind::kLoop && iterators.contains(loop->index) ? iterators.at(loop->index)
                                                                                           : Expr();
      });
    };
    for (Expr& body : partial.bodies)
      body = te::transform(body, [&](const Expr& e) -> Expr {
        const auto* variable = te::as<te::Var>(e);
        if (variable && variable->kind == te::VarKind::kSpatial) return te::axis(variable->index + 1);
        if (variable && variable->kind == te::VarKind::kReduce) return in_loops(block_.reduce[variable->index].binding);
        return {};
      });
    return partial;
  }

  /// The block behind, without what it reads.
  Block combination() {
    Block last;
    last.name = block_.name;
    for (const Iterator& axis : block_.axes) last.axes.push_back({axis.extent, substitute(axis.binding, renamed_)});
    loops_.emplace_back(kernel_.next_variable++, te::index(extent_));
    last.reduce = {{te::index(extent_), loop_variable(loops_.back().variable)}};
    if (const Expr kept = restricted(block_.predicate, visible_)) last.predicate = substitute(kept, renamed_);
    last.writes = block_.writes;
    last.combine = block_.combine;
    last.initialize = true;
    return last;
  }

  /// Partial results, in buffers with one more axis.
  void pass_on(Block& partial, Block& last) {
    const int rank = static_cast<int>(block_.axes.size());
    std::vector<Expr> partial_point = te::axes(rank + 1), read_point = te::axes(rank);
    read_point.insert(read_point.begin(), te::reduce_axis(0));
    for (Write& write : partial.writes) {
      const Buffer old = kernel_.buffers[write.buffer];
      Shape shape = old.shape;
      shape.insert(shape.begin(), Dim(extent_));
      kernel_.buffers.push_back({fresh_buffer_name(kernel_, old.name + ".partial"), old.dtype, shape});
      write = {static_cast<int>(kernel_.buffers.size()) - 1, partial_point};
      last.bodies.push_back(load_buffer(kernel_, write.buffer, read_point));
    }
  }

  Kernel& kernel_;
  Block& block_;
  const LoopId id_;
  const std::set<int> reducing_, spatial_;  ///< variables of loops
  const std::vector<Loop*> around_;         ///< the block
  int64_t extent_ = 0;                      ///< of the loop
  size_t outermost_ = 0;                    ///< loop over the reduction
  std::vector<Loop> loops_;                 ///< around the block behind, of its own
  std::map<int, Expr> renamed_;             ///< variables of loops over axes, to those
  std::set<int> visible_;                   ///< variables of loops that the block behind has, or has a like of
};

/// A block that gives a reduction its first values.
Block initialization(const Kernel& kernel, const Block& reduction, std::vector<Iterator> axes,
                     std::vector<Write> writes) {
  Block start;
  start.name = fresh_block_name(kernel, reduction.name + ".init");
  start.axes = std::move(axes);
  start.writes = std::move(writes);
  start.bodies = reduction.combine.identity;
  return start;
}

/// Whether iterations of these loops meet in values of the binding: it moves in steps of a loop that are no longer than
/// what those of shorter steps reach over together (windows that overlap). Not where a step is no constant.
bool meets_itself(const Expr& binding, const std::vector<const Loop*>& loops) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // and how many
  for (const Loop* loop : loops) {
    if (!depends_on(binding, loop->variable) || te::as_constant(loop->extent) == 1) continue;
    const Expr next = substitute(binding, {{loop->variable, loop_variable(loop->variable) + 1}});
    const auto step = te::as_constant(te::simplify_index(next - binding));
    if (!step) return false;
    steps.emplace_back(std::abs(*step), te::as_constant(loop->extent).value_or(INT64_MAX));
  }
  std::ranges::sort(steps);
  double reach = 0;
  for (const auto& [step, count] : steps) {
    if (static_cast<double>(step) <= reach) return true;
    reach += static_cast<double>(step) * static_cast<double>(count - 1);
  }
  return false;
}

/// What the block writes, at this index of new buffers in registers, one for each of its own, called like it.
std::vector<Write> writes_to_registers(Kernel& kernel, const Block& block, std::string_view suffix, const Shape& shape,
                                       const std::vector<Expr>& index) {
  std::vector<Write> result;
  for (const Write& write : block.writes) {
    const Buffer& target = kernel.buffers[static_cast<size_t>(write.buffer)];
    result.push_back({static_cast<int>(kernel.buffers.size()), index});
    kernel.buffers.push_back(
        {fresh_buffer_name(kernel, fmt::format("{}{}", target.name, suffix)), target.dtype, shape, Scope::kRegister});
  }
  return result;
}

/// Steps of lanes that are summed at a time, where sums are of reals: of equal terms the errors of one long sum all
/// have one sign, and grow with the square of their number.
constexpr int64_t kStepsOfBlock = 512;

/// What `reduce_in_lanes` makes of a reduction: lane k of its last loop has iterations k, lanes + k, ...
class InLanes {
 public:
  InLanes(Kernel& kernel, const Block& block, const std::vector<Loop*>& loops, int64_t lanes)
      : kernel_(kernel),
        block_(block),
        length_(loops.back()->extent),
        lanes_(lanes),
        partial_(block),
        name_(fresh_block_name(kernel, block.name + ".lanes")) {
    // The reduction runs over its loops themselves: steps of the last one, whatever iterators that was bound to.
    std::map<int, Expr> iterators;
    partial_.reduce.clear();
    for (const Loop* loop : loops) {
      iterators.emplace(loop->variable, te::reduce_axis(static_cast<int>(partial_.reduce.size())));
      partial_.reduce.push_back({loop->extent, loop_variable(loop->variable)});
      if (loop != loops.back()) outer_.emplace_back(loop->variable, loop->extent);
    }
    partial_.reduce.back().extent = te::simplify_index(te::floor_div(length_ + (lanes - 1), te::index(lanes)));
    Expr& last = iterators.at(loops.back()->variable);
    last = last * te::index(lanes) + lane_axis();
    for (Expr& body : partial_.bodies)
      body = te::transform(body, [&](const Expr& e) -> Expr {
        const auto* variable = te::as<te::Var>(e);
        if (!variable || variable->kind != te::VarKind::kReduce) return {};
        return substitute(block_.reduce[static_cast<size_t>(variable->index)].binding, iterators);
      });
    partial_.axes.push_back({te::index(lanes), {}});
    partial_.initialize = false;
  }

  /// The block that adds steps to the lanes one by one.
  const std::string& name() const { return name_; }

  /// Instead of the reduction's loops.
  Statements statements() {
    const std::vector<Write> held = writes_to_registers(kernel_, block_, ".lanes", {Dim(lanes_)}, {lane_axis()});
    const auto extent = te::as_constant(length_);
    // Of a length that is known, some steps are left for the block that the name is of.
    const Expr steps = te::simplify_index(te::floor_div(length_, te::index(lanes_))),
               left = te::simplify_index(length_ - steps * lanes_),
               blocks = te::simplify_index(te::floor_div(extent ? steps - 1 : steps, te::index(kStepsOfBlock)));
    Statements adding;
    Expr done = te::index(0);
    if (block_.combine.name == "sum" && is_float(block_.bodies[0].dtype()) && te::as_constant(blocks) != 0) {
      adding.push_back(sums_of_blocks(blocks, held));
      done = blocks * kStepsOfBlock;
    }
    Loop step(kernel_.next_variable++, te::simplify_index(steps - done));
    adding.push_back(over_lanes(name_, te::simplify_index(done + loop_variable(step.variable)), held, {step}));
    if (te::as_constant(left) != 0)
      adding.push_back(over_lanes(fresh_block_name(kernel_, block_.name + ".rest"), steps, held, {}, left));

    Statements result;
    result.push_back(start(fresh_block_name(kernel_, block_.name + ".init"), held));
    for (Statement& each : nested(outer_, std::move(adding))) result.push_back(std::move(each));
    const Loop joined(kernel_.next_variable++, te::index(lanes_));
    Block last = block_;
    last.reduce = {{te::index(lanes_), loop_variable(joined.variable)}};
    last.bodies = loaded(held, te::reduce_axis(0));
    result.push_back(nested({joined}, std::move(last)));
    return result;
  }

 private:
  Expr lane_axis() const { return te::axis(static_cast<int>(block_.axes.size())); }

  std::vector<Expr> loaded(const std::vector<Write>& held, const Expr& lane) const {
    std::vector<Expr> result;
    result.reserve(held.size());
    for (const Write& write : held) result.push_back(load_buffer(kernel_, write.buffer, {lane}));
    return result;
  }

  /// What is held, before anything is added to it.
  Statement start(std::string name, std::vector<Write> held) {
    const Loop lane(kernel_.next_variable++, te::index(lanes_));
    for (Write& write : held) write.index = {te::axis(0)};
    Block made = initialization(kernel_, block_, {{te::index(lanes_), loop_variable(lane.variable)}}, std::move(held));
    made.name = std::move(name);
    return nested({lane}, std::move(made));
  }

  /// Adds this step of all lanes, or of the first ones, under a loop over such steps if there is one.
  Statement over_lanes(std::string name, const Expr& step, std::vector<Write> held, std::vector<Loop> loops,
                       const Expr& count = {}) {
    loops.emplace_back(kernel_.next_variable++, te::index(lanes_));
    const Expr lane = loop_variable(loops.back().variable);
    Block made = partial_;
    made.name = std::move(name);
    made.reduce.back().binding = step;
    made.axes.back().binding = lane;
    made.writes = std::move(held);
    if (count) made.predicate = lane < count;
    return nested(std::move(loops), std::move(made));
  }

  /// A loop over blocks of steps, each of which has sums of its own that are added to what is held.
  Statement sums_of_blocks(const Expr& count, const std::vector<Write>& held) {
    Loop block(kernel_.next_variable++, count);
    const Loop step(kernel_.next_variable++, te::index(kStepsOfBlock));
    const Expr number = loop_variable(block.variable);
    const std::vector<Write> sums = writes_to_registers(kernel_, block_, ".block", {Dim(lanes_)}, {lane_axis()});
    const std::string hint = block_.name + ".block";
    block.body.push_back(start(fresh_block_name(kernel_, hint + ".init"), sums));
    block.body.push_back(over_lanes(fresh_block_name(kernel_, hint),
                                    number * kStepsOfBlock + loop_variable(step.variable), sums, {step}));
    const Loop lane(kernel_.next_variable++, te::index(lanes_));
    Block added = partial_;
    added.name = fresh_block_name(kernel_, hint + "s");
    added.reduce.back() = {count, number};
    added.axes.back().binding = loop_variable(lane.variable);
    added.writes = held;
    added.bodies = loaded(sums, lane_axis());
    block.body.push_back(nested({lane}, std::move(added)));
    return {std::move(block)};
  }

  Kernel& kernel_;
  const Block block_;
  const Expr length_;  ///< of the last loop
  const int64_t lanes_;
  std::vector<Loop> outer_;  ///< around that one
  Block partial_;            ///< what each step adds, over one more axis: that of lanes
  const std::string name_;
};

}  // namespace

Result<std::string> decompose_reduction(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  if (!block.is_reduction() || !block.initialize) return invalid(name, "a reduction with its initialization expected");
  const std::vector<Loop*> inner = loops_from(place, id);
  if (inner.empty()) return invalid(name, "a loop around it expected, {} is none", text(id));
  if (std::any_of(inner.begin(), inner.end(), [](const Loop* loop) { return loop->ordered; }))
    return invalid(text(id),
                   "a loop inside of the ordered ones expected: each of their steps starts the reduction again");
  const std::set<int> reducing = variables_of(block.reduce), spatial = variables_of(block.axes);
  // Of a loop over both that was cut in parts, an earlier one may have begun what this one goes on with.
  const bool is_alone = std::all_of(block.writes.begin(), block.writes.end(),
                                    [&](const Write& write) { return writers(kernel, write.buffer).size() == 1; });
  if (const auto both =
          std::find_if(reducing.begin(), reducing.end(), [&](int variable) { return spatial.contains(variable); });
      both != reducing.end() && !is_alone)
    return invalid(name, "the only writer of its buffer expected, where k{} runs over axes and the reduction", *both);
  std::set<int> outside;
  for (const Loop* loop : place.loops()) {
    if (loop->variable == id.variable) break;
    if (reducing.contains(loop->variable))
      return invalid(name, "no loop over its reduction outside {} expected, {} is one", text(id),
                     text(LoopId{loop->variable}));
    outside.insert(loop->variable);
  }
  std::vector<const Loop*> over_axes;
  for (const Loop* loop : inner)
    if (spatial.contains(loop->variable) && !reducing.contains(loop->variable)) over_axes.push_back(loop);
  // Loops that move other axes, too, keep points apart by those.
  std::erase_if(over_axes, [&](const Loop* loop) {
    return std::ranges::count_if(block.axes,
                                 [&](const Iterator& axis) { return depends_on(axis.binding, loop->variable); }) > 1;
  });
  for (const Iterator& axis : block.axes)
    if (meets_itself(axis.binding, over_axes))
      return invalid(text(id), "a loop whose iterations write different elements of {} expected", name);
  std::map<int, Expr> renamed;
  std::vector<Loop> loops;
  for (const Loop* loop : inner) {
    if (!spatial.contains(loop->variable)) continue;
    Loop copy(kernel.next_variable++, loop->extent);
    copy.kind = loop->kind;
    renamed.emplace(loop->variable, loop_variable(copy.variable));
    loops.push_back(std::move(copy));
    outside.insert(loop->variable);
  }
  std::vector<Iterator> axes;
  for (const Iterator& axis : block.axes) axes.push_back({axis.extent, substitute(axis.binding, renamed)});
  Block initial = initialization(kernel, block, std::move(axes), block.writes);
  if (const Expr kept = restricted(block.predicate, outside)) initial.predicate = substitute(kept, renamed);
  block.initialize = false;
  const std::string created = initial.name;
  TRY(const Place before, find_loop(kernel, id.variable));
  before.list->insert(before.list->begin() + static_cast<std::ptrdiff_t>(before.position),
                      nested(std::move(loops), std::move(initial)));
  return created;
}

Result<std::string> keep_in_registers(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(Place place, find_block(kernel, name));
  Block& block = place.block();
  if (!block.is_reduction() || !block.initialize) return invalid(name, "a reduction with its initialization expected");
  const std::set<int> reducing = variables_of(block.reduce), spatial = variables_of(block.axes);
  const std::vector<Loop*> around = place.loops(), inside = loops_from(place, id);
  if (inside.empty()) return invalid(text(id), "a loop around {} expected", name);
  for (size_t k = 0; k + inside.size() <= around.size(); ++k)
    if (reducing.contains(around[k]->variable))
      return invalid(text(id), "a loop around all of the reduction expected, k{} is outside", around[k]->variable);

  std::vector<Loop> before, behind;
  std::map<int, Expr> stored;  // by variable of the tile
  std::set<int> visible;
  for (const Loop* loop : around) visible.insert(loop->variable);
  std::vector<Iterator> tile, first, last;
  for (const Loop* loop : inside) {
    if (loop->body.size() != 1) return invalid(name, "a block alone in the loops of its tile expected");
    if (loop == inside.front()) continue;
    const bool reduces = reducing.contains(loop->variable), is_over_axes = spatial.contains(loop->variable);
    if (!reduces && !is_over_axes && te::as_constant(loop->extent) == 1) continue;
    if (reduces == is_over_axes || loop->kind != LoopKind::kSerial)
      return invalid(text(LoopId{loop->variable}), "a serial loop over axes or over the reduction alone expected");
    if (reduces) {
      visible.erase(loop->variable);
      continue;
    }
    if (!te::as_constant(loop->extent))
      return invalid(text(LoopId{loop->variable}), "a tile of constant extents expected, data decide this one");
    for (auto* list : {&before, &behind}) list->emplace_back(kernel.next_variable++, loop->extent);
    tile.push_back({loop->extent, loop_variable(loop->variable)});
    first.push_back({loop->extent, loop_variable(before.back().variable)});
    last.push_back({loop->extent, loop_variable(behind.back().variable)});
    stored.emplace(loop->variable, last.back().binding);
  }

  Block store = block;
  store.name = fresh_block_name(kernel, name + ".store");
  store.reduce.clear();
  store.combine = {};
  store.initialize = false;
  store.bodies.clear();
  for (Iterator& axis : store.axes) axis.binding = substitute(axis.binding, stored);
  const Expr kept = restricted(block.predicate, visible);
  store.predicate = kept ? substitute(kept, stored) : Expr();
  std::vector<Expr> point;
  Shape shape;
  for (const Iterator& each : tile) {
    point.push_back(te::axis(static_cast<int>(block.axes.size() + point.size())));
    shape.push_back(Dim(each.extent));
  }
  std::vector<Write> started;
  block.writes = writes_to_registers(kernel, block, ".registers", shape, point);
  for (const Write& write : block.writes) {
    started.push_back({write.buffer, te::axes(static_cast<int>(shape.size()))});
    store.bodies.push_back(load_buffer(kernel, write.buffer, point));
  }
  Block start = initialization(kernel, block, std::move(first), std::move(started));
  store.axes.insert(store.axes.end(), last.begin(), last.end());
  block.axes.insert(block.axes.end(), tile.begin(), tile.end());
  block.initialize = false;

  std::string created = store.name;
  Statements& body = inside.front()->body;
  body.insert(body.begin(), nested(std::move(before), std::move(start)));
  body.push_back(nested(std::move(behind), std::move(store)));
  return created;
}

Result<std::string> reduce_in_lanes(Kernel& kernel, const std::string& name, LoopId id, int64_t lanes) {
  TRY(Place place, find_block(kernel, name));
  Block& block = place.block();
  if (!block.is_reduction() || !block.initialize || !block.combine.commutative || block.predicate)
    return invalid(name, "a commutative reduction over all of its loops, with its initialization, expected");
  if (lanes < 2 || lanes > 64) return invalid(name, "2 to 64 lanes expected, {} found", lanes);
  const std::set<int> reducing = variables_of(block.reduce), spatial = variables_of(block.axes);
  const std::vector<Loop*> around = place.loops();
  const auto outermost =
      std::ranges::find_if(around, [&](const Loop* loop) { return reducing.contains(loop->variable); });
  if (around.empty() || around.back()->variable != id.variable || !reducing.contains(id.variable))
    return invalid(text(id), "the last loop around {}, over its reduction, expected", name);
  const auto extent = te::as_constant(around.back()->extent);
  if (extent && *extent < lanes) return invalid(text(id), "at least {} iterations expected, it has {}", lanes, *extent);
  for (auto loop = outermost; loop != around.end(); ++loop)
    if (!reducing.contains((*loop)->variable) || spatial.contains((*loop)->variable) || (*loop)->body.size() != 1 ||
        (*loop)->kind != LoopKind::kSerial)
      return invalid(text(LoopId{(*loop)->variable}), "a serial loop over the reduction alone expected");

  InLanes made(kernel, block, {outermost, around.end()}, lanes);
  TRY(const Place whole, find_loop(kernel, (*outermost)->variable));
  Statements statements = made.statements();
  // Registers are those of one nest.
  if (whole.ancestors.empty()) statements = nested({Loop(kernel.next_variable++, te::index(1))}, std::move(statements));
  const auto at = whole.list->erase(whole.list->begin() + static_cast<std::ptrdiff_t>(whole.position));
  whole.list->insert(at, std::make_move_iterator(statements.begin()), std::make_move_iterator(statements.end()));
  return made.name();
}

Result<std::string> rfactor(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  return Factoring(kernel, place, id).apply();
}

Result<std::string> split_k(Kernel& kernel, const std::string& name, LoopId id, int64_t parts) {
  TRY(const LoopIds pieces, split(kernel, id, Integers{parts, -1}));
  TRY(const Place place, find_block(kernel, name));
  LoopIds order = {pieces[0]};
  for (const Loop* loop : place.loops())
    if (loop->variable != pieces[0].variable) order.push_back({loop->variable});
  TRY_VOID(reorder(kernel, order));
  return rfactor(kernel, name, pieces[0]);
}

Result<void> accumulate_in(Kernel& kernel, const std::string& name, const std::string& type) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  const DataType wide = parse_data_type(type);
  if (!block.is_reduction() || block.combine.arity() != 1 || !block.initialize)
    return invalid(name, "a sum with its initialization expected");
  const DataType narrow = block.bodies[0].dtype();
  if (block.combine.name != te::sum(narrow).name)
    return invalid(name, "a sum expected, '{}' found", block.combine.name);
  if (!is_float(wide) || !is_float(narrow) || bit_width(wide) <= bit_width(narrow))
    return invalid(name, "a wider real type than {} expected, '{}' found", isomer::name(narrow), type);
  const int sums = block.writes[0].buffer;
  const auto is_sums = [&](int buffer) { return buffer == sums; };
  if (std::any_of(kernel.inputs.begin(), kernel.inputs.end(), is_sums) ||
      std::any_of(kernel.outputs.begin(), kernel.outputs.end(), is_sums))
    return invalid(name, "a buffer that is no input or output expected, '{}' is one", kernel.buffers[sums].name);
  for (const std::string& other : writers(kernel, sums)) {
    TRY(const Place writer, find_block(kernel, other));
    if (other == name) continue;
    if (writer.block().is_reduction() || writer.block().writes.size() != 1)
      return invalid(name, "no writer of '{}' but maps expected beside it, {} is one", kernel.buffers[sums].name,
                     other);
    writer.block().bodies[0] = te::cast(wide, writer.block().bodies[0]);
  }
  block.bodies[0] = widened(block.bodies[0], wide);
  block.combine = te::sum(wide);
  kernel.buffers[sums].dtype = wide;
  rewrite_expressions(kernel.body, [&](const Expr& whole) {
    return te::transform(whole, [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      if (!load || load->buffer.index != sums || e.dtype() == wide) return {};
      return te::cast(narrow, load_buffer(kernel, sums, load->index));
    });
  });
  return {};
}

}  // namespace isomer::kernel::primitives
