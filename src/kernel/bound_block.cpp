#include "kernel/bound_block.h"

#include <algorithm>

#include "kernel/regions.h"

namespace isomer::kernel {
namespace {

/// Whether points with other axes write other elements: each axis moves a dim of its own, element by element.
bool writes_apart(const Block& block, const Write& write) {
  const auto has_axis = [](const Expr& expr) {
    return te::any_node(expr, [](const Expr& e) {
      const auto* variable = te::as<te::Var>(e);
      return variable && variable->kind == te::VarKind::kSpatial;
    });
  };
  for (size_t k = 0; k < block.axes.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    const bool moves = std::any_of(write.index.begin(), write.index.end(), [&](const Expr& index) {
      return has_axis(index) && !has_axis(te::simplify_index(index - axis));
    });
    if (!moves && te::as_constant(block.axes[k].extent) != 1) return false;
  }
  return true;
}

/// Whether the block's predicate leaves out nothing but points beyond its axes, whose elements of the thread's own
/// buffers are nobody's.
bool leaves_out_nobodys(const Kernel& kernel, const Block& block) {
  Expr rest = block.predicate;
  for (const Iterator& axis : block.axes) rest = without_bound(rest, axis);
  return !rest && std::all_of(block.writes.begin(), block.writes.end(), [&](const Write& write) {
    return kernel.buffers[static_cast<size_t>(write.buffer)].scope != Scope::kArgument && writes_apart(block, write);
  });
}

}  // namespace

BoundBlock bind(const Kernel& kernel, const Block& block, const LoopRanges& ranges, const AccessPlans& plans) {
  BoundBlock result;
  if (block.predicate)
    result.predicate =
        te::has_load(block.predicate) ? block.predicate : te::simplify_index(block.predicate, ranges.ranges());
  result.is_first = te::truth(block.initialize);
  for (const Iterator& iterator : block.reduce) result.is_first = result.is_first && te::equal(iterator.binding, 0);
  result.is_first = te::simplify_index(result.is_first, ranges.ranges());
  for (const Expr& body : block.bodies) result.bodies.push_back(plans.simplified(bind_iterators(block, body)));
  for (const Write& write : block.writes) {
    std::vector<Expr> index;
    for (const Expr& i : write.index) index.push_back(bind_iterators(block, i));
    result.writes.push_back(plans.plan(write.buffer, index));
  }
  result.writes_beyond = result.predicate && leaves_out_nobodys(kernel, block);
  return result;
}

}  // namespace isomer::kernel
