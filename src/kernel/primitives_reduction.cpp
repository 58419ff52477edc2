#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

std::string text(LoopId loop) { return fmt::format("k{}", loop.variable); }

std::set<int> variables_of(const std::vector<Iterator>& iterators) {
  std::set<int> result;
  for (const Iterator& iterator : iterators) result.merge(variables(iterator.binding));
  return result;
}

/// The parts of a conjunction that read only these variables.
Expr restricted(const Expr& condition, const std::set<int>& allowed) {
  if (!condition) return {};
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) return both(restricted(e->left, allowed), restricted(e->right, allowed));
  for (const int variable : variables(condition))
    if (!allowed.contains(variable)) return {};
  return condition;
}

/// The loop `id` and those between it and the block.
std::vector<Loop*> loops_from(const Place& place, LoopId id) {
  std::vector<Loop*> loops = place.loops();
  const auto first = std::find_if(loops.begin(), loops.end(), [&](const Loop* loop) { return loop->variable == id.variable; });
  return {first, loops.end()};
}

}  // namespace

Result<std::string> decompose_reduction(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  if (!block.is_reduction() || !block.initialize) return invalid(name, "a reduction with its initialization expected");
  const std::vector<Loop*> inner = loops_from(place, id);
  if (inner.empty()) return invalid(name, "a loop around it expected, {} is none", text(id));
  const std::set<int> reducing = variables_of(block.reduce), spatial = variables_of(block.axes);
  std::set<int> outside;
  for (const Loop* loop : place.loops()) {
    if (loop->variable == id.variable) break;
    if (reducing.contains(loop->variable)) return invalid(name, "no loop over its reduction outside {} expected, {} is one", text(id), text(LoopId{loop->variable}));
    outside.insert(loop->variable);
  }
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
  Block initial;
  initial.name = fresh_block_name(kernel, name + ".init");
  for (const Iterator& axis : block.axes) initial.axes.push_back({axis.extent, substitute(axis.binding, renamed)});
  if (const Expr kept = restricted(block.predicate, outside)) initial.predicate = substitute(kept, renamed);
  initial.writes = block.writes;
  initial.bodies = block.combine.identity;
  block.initialize = false;
  const std::string created = initial.name;
  Statement statement = {std::move(initial)};
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body.push_back(std::move(statement));
    statement = {std::move(*loop)};
  }
  TRY(const Place before, find_loop(kernel, id.variable));
  before.list->insert(before.list->begin() + static_cast<std::ptrdiff_t>(before.position), std::move(statement));
  return created;
}

Result<std::string> rfactor(Kernel& kernel, const std::string& name, LoopId id) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  if (!block.is_reduction() || !block.initialize) return invalid(name, "a reduction with its initialization expected");
  if (!block.combine.commutative) return invalid(name, "a commutative reduction expected");
  const std::set<int> reducing = variables_of(block.reduce), spatial = variables_of(block.axes);
  TRY(const Place factored, find_loop(kernel, id.variable));
  const auto extent = te::as_constant(factored.loop().extent);
  if (!extent) return invalid(text(id), "a constant extent expected, data decide it");
  if (!reducing.contains(id.variable) || spatial.contains(id.variable)) return invalid(text(id), "a loop over the reduction alone expected");
  for (const Write& write : block.writes)
    if (write.index != te::axes(static_cast<int>(block.axes.size()))) return invalid(name, "element axis(0), axis(1)… written expected");
  for (const Statement* ancestor : place.ancestors)
    if (const auto* loop = std::get_if<Loop>(&ancestor->node); !loop || loop->body.size() != 1) return invalid(name, "a block alone in its loops expected");

  // Partial results over one more axis. The reduction that is left runs over its loops themselves: the first of them is
  // where all are 0, as the first values of the old iterators depend on the new axis.
  Block partial = block;
  partial.name = fresh_block_name(kernel, name + ".partial");
  std::map<int, Expr> iterators = {{id.variable, te::axis(0)}};
  partial.axes.insert(partial.axes.begin(), {te::index(*extent), loop_variable(id.variable)});
  partial.reduce.clear();
  for (const Loop* loop : place.loops()) {
    if (!reducing.contains(loop->variable) || loop->variable == id.variable) continue;
    if (spatial.contains(loop->variable)) return invalid(text(LoopId{loop->variable}), "a loop over axes or over the reduction expected, it runs over both");
    iterators.emplace(loop->variable, te::reduce_axis(static_cast<int>(partial.reduce.size())));
    partial.reduce.push_back({loop->extent, loop_variable(loop->variable)});
  }
  std::vector<Expr> point = {te::axis(0)};
  for (size_t k = 0; k < block.axes.size(); ++k) point.push_back(te::axis(static_cast<int>(k) + 1));
  const auto over_partial = [&](const Expr& expr) {
    return te::transform(expr, [&](const Expr& e) -> Expr {
      const auto* variable = te::as<te::Var>(e);
      if (variable && variable->kind == te::VarKind::kSpatial) return point[variable->index + 1];
      if (variable && variable->kind == te::VarKind::kReduce) return te::transform(block.reduce[variable->index].binding, [&](const Expr& part) -> Expr {
        const auto* loop = te::as<te::Var>(part);
        return loop && loop->kind == te::VarKind::kLoop && iterators.contains(loop->index) ? iterators.at(loop->index) : Expr();
      });
      return {};
    });
  };
  for (Expr& body : partial.bodies) body = over_partial(body);
  std::vector<Write> last_writes = block.writes;
  std::vector<Expr> last_bodies, load_point = {te::reduce_axis(0)};
  for (size_t k = 0; k < block.axes.size(); ++k) load_point.push_back(te::axis(static_cast<int>(k)));
  for (Write& write : partial.writes) {
    const Buffer old = kernel.buffers[write.buffer];
    Shape shape = old.shape;
    shape.insert(shape.begin(), Dim(*extent));
    kernel.buffers.push_back({fresh_buffer_name(kernel, old.name + ".partial"), old.dtype, shape});
    write = {static_cast<int>(kernel.buffers.size()) - 1, point};
    last_bodies.push_back(load_buffer(kernel, write.buffer, load_point));
  }
  std::vector<Expr> extents;
  for (const Iterator& axis : block.axes) extents.push_back(axis.extent);
  const size_t axes = extents.size();
  extents.push_back(te::index(*extent));
  Statement last = under_loops(kernel, extents, [&](const std::vector<Expr>& variables) {
    Block result;
    result.name = block.name;
    for (size_t k = 0; k < axes; ++k) result.axes.push_back({extents[k], variables[k]});
    result.reduce = {{extents[axes], variables[axes]}};
    result.writes = std::move(last_writes);
    result.combine = block.combine;
    result.initialize = true;
    result.bodies = std::move(last_bodies);
    return result;
  });
  const std::string created = partial.name;
  const Statement* root = place.root();
  block = std::move(partial);
  const auto at = std::find_if(kernel.body.begin(), kernel.body.end(), [&](const Statement& s) { return &s == root; });
  kernel.body.insert(at + 1, std::move(last));
  return created;
}

}  // namespace isomer::kernel::primitives
