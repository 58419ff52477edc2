#include "kernel/compact.h"

#include <algorithm>
#include <utility>

#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The innermost list of statements that holds all uses of the buffer, outside of vectorized loops: each lane has
/// elements of its own.
const Statements& common_list(const Statements& statements, int buffer) {
  const Statement* user = nullptr;
  for (const Statement& statement : statements) {
    if (!touches(statement, buffer)) continue;
    if (user) return statements;
    user = &statement;
  }
  const auto* loop = user ? std::get_if<Loop>(&user->node) : nullptr;
  return loop && loop->kind != LoopKind::kVectorized ? common_list(loop->body, buffer) : statements;
}

}  // namespace

void compact(Kernel& kernel) {
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const int buffer = static_cast<int>(b);
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    const Region region = region_of(kernel, common_list(kernel.body, buffer), buffer, Access::kEither);
    Shape& shape = kernel.buffers[b].shape;
    for (size_t k = 0; k < shape.size(); ++k) shape[k] = region.empty() ? Dim(0) : Dim(region[k].extent);
    const auto relative = [&](std::vector<Expr> index) {
      for (size_t k = 0; k < index.size(); ++k) index[k] = te::simplify_index(index[k] - region[k].minimum);
      return index;
    };
    rewrite_expressions(kernel.body, [&](const Expr& expr) {
      return te::transform(expr, [&](const Expr& e) -> Expr {
        const auto* load = te::as<te::Load>(e);
        return load && load->buffer.index == buffer ? load_buffer(kernel, buffer, relative(load->index)) : Expr();
      });
    });
    edit_blocks(kernel.body, [&](Block& block) {
      for (Write& write : block.writes)
        if (write.buffer == buffer) write.index = relative(write.index);
    });
  }
}

namespace {

/// The only block below, through loops that hold one statement each.
Block* only_block(Statement& statement) {
  if (auto* block = std::get_if<Block>(&statement.node)) return block;
  auto* loop = std::get_if<Loop>(&statement.node);
  return loop && loop->body.size() == 1 ? only_block(loop->body.front()) : nullptr;
}

void loops_below(const Statement& statement, std::set<int>& found) {
  const auto* loop = std::get_if<Loop>(&statement.node);
  if (!loop) return;
  found.insert(loop->variable);
  loops_below(loop->body.front(), found);
}

/// Parts of a conjunction that read none of the variables; the others stay in `condition`.
Expr take_independent(Expr& condition, const std::set<int>& inner) {
  if (!condition) return {};
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) {
    Expr left = e->left, right = e->right;
    const Expr from_left = take_independent(left, inner), from_right = take_independent(right, inner);
    condition = both(left, right);
    return both(from_left, from_right);
  }
  for (const int variable : variables(condition))
    if (inner.contains(variable)) return {};
  Expr taken;
  std::swap(taken, condition);
  return taken;
}

/// Without the parts of a conjunction that always hold.
Expr simplified(const Expr& condition, const te::Ranges& ranges) {
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd)
    return both(simplified(e->left, ranges), simplified(e->right, ranges));
  if (!loads(condition).empty()) return condition;
  const Expr result = te::simplify_index(condition, ranges);
  return result == te::truth(true) ? Expr() : result;
}

void simplify_predicates(Statements& statements, LoopRanges& ranges) {
  for (Statement& statement : statements) {
    if (auto* block = std::get_if<Block>(&statement.node); block && block->predicate)
      block->predicate = simplified(block->predicate, ranges.ranges());
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    ranges.enter(*loop);
    simplify_predicates(loop->body, ranges);
    ranges.leave(*loop);
  }
}

void hoist(Statements& statements) {
  for (Statement& statement : statements) {
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    Block* const block = only_block(statement);
    if (block && block->predicate && loop->kind != LoopKind::kParallel) {
      std::set<int> inner;
      loops_below(statement, inner);
      if (Expr condition = take_independent(block->predicate, inner)) {
        Branch branch;
        branch.condition = std::move(condition);
        branch.then.push_back(std::exchange(statement, {}));
        statement.node = std::move(branch);
        hoist(std::get<Branch>(statement.node).then);
        continue;
      }
    }
    hoist(loop->body);
  }
}

}  // namespace

void hoist_predicates(Kernel& kernel) {
  LoopRanges ranges;
  simplify_predicates(kernel.body, ranges);
  for (Statement& root : kernel.body)
    if (auto* loop = std::get_if<Loop>(&root.node)) hoist(loop->body);
}

}  // namespace isomer::kernel
