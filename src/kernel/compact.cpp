#include "kernel/compact.h"

#include <algorithm>
#include <utility>

#include "kernel/mma.h"
#include "kernel/open_sizes.h"
#include "kernel/padding.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The innermost list of statements that holds all uses of the buffer, outside of vectorized loops: each lane has
/// elements of its own. `threads`: the loops around the list whose iterations are threads.
const Statements& common_list(const Statements& statements, int buffer, std::vector<const Loop*>& threads) {
  const Statement* user = nullptr;
  for (const Statement& statement : statements) {
    if (!touches(statement, buffer)) continue;
    if (user) return statements;
    user = &statement;
  }
  const auto* loop = user ? std::get_if<Loop>(&user->node) : nullptr;
  if (!loop || loop->kind == LoopKind::kVectorized) return statements;
  if (is_thread(loop->kind)) threads.push_back(loop);
  return common_list(loop->body, buffer, threads);
}

/// The lanes of the blocks that write the buffer; 1: none is vectorized.
int64_t lanes_of_writers(const Kernel& kernel, int buffer) {
  int64_t lanes = 1;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    if (!stores(block).contains(buffer)) return;
    for (const Loop* loop : loops)
      if (loop->kind == LoopKind::kVectorized) lanes = std::max(lanes, te::as_constant(loop->extent).value_or(1));
  });
  return lanes;
}

/// Bindings as they are for iterations that there are: one number has one form, whichever primitive wrote it.
void simplify_bindings(Statement& statement, LoopRanges& ranges) {
  if (auto* block = std::get_if<Block>(&statement.node)) {
    for (auto* list : {&block->axes, &block->reduce})
      for (Iterator& iterator : *list) iterator.binding = te::simplify_index(iterator.binding, ranges.ranges());
  }
  auto* loop = std::get_if<Loop>(&statement.node);
  if (!loop) return;
  ranges.enter(*loop);
  for (Statement& inner : loop->body) simplify_bindings(inner, ranges);
  ranges.leave(*loop);
}

/// The innermost dim to whole vectors: a part of one is a register too then.
void round_up(Shape& shape, int64_t lanes) {
  if (shape.empty()) return;
  const auto extent = shape.back().constant();
  if (extent && 2 * *extent > lanes) shape.back() = Dim((*extent + lanes - 1) / lanes * lanes);
}

}  // namespace

void compact(Kernel& kernel) {
  for (Statement& root : kernel.body)
    if (const auto* loop = std::get_if<Loop>(&root.node); loop && is_bound(loop->kind)) {
      LoopRanges ranges;
      simplify_bindings(root, ranges);
    }
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const int buffer = static_cast<int>(b);
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    std::vector<const Loop*> threads;
    const Statements& users = common_list(kernel.body, buffer, threads);
    if (kernel.buffers[b].scope != Scope::kShared) threads.clear();
    const Region region = region_of(kernel, users, buffer, Access::kEither, threads);
    Shape& shape = kernel.buffers[b].shape;
    for (size_t k = 0; k < shape.size(); ++k) shape[k] = region.empty() ? Dim(0) : Dim(region[k].extent);
    if (!shape.empty()) shape.back() = shape.back() + Dim(kernel.buffers[b].row_gap);
    if (kernel.buffers[b].scope == Scope::kRegister) round_up(shape, lanes_of_writers(kernel, buffer));
    map_accesses(kernel, kernel.body, buffer, [&](std::vector<Expr> index) {
      for (size_t k = 0; k < index.size(); ++k) index[k] = te::simplify_index(index[k] - region[k].minimum);
      return Write{buffer, std::move(index)};
    });
  }
}

namespace {

/// The only block below, through loops that hold one statement each; none where tensor cores compute it: whole warps
/// come there, whatever a bound says.
Block* only_block(Statement& statement) {
  if (auto* block = std::get_if<Block>(&statement.node)) return block;
  auto* loop = std::get_if<Loop>(&statement.node);
  return loop && !loop->annotations.contains(kMma) && loop->body.size() == 1 ? only_block(loop->body.front()) : nullptr;
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

/// A comparison without variables that make no difference: p + 2*k < 8 is k < 4 where p is 0 or 1. It says that
/// m*q + r is at least 0; where r / m rounds down to one number f whatever r is, it says that q + f is.
Expr without_remainder(const Expr& comparison, const te::Ranges& ranges) {
  const Expr gap = at_least_zero(comparison);
  if (!gap) return comparison;
  const Expr whole = te::simplify_index(gap, ranges);
  std::map<int, int64_t> steps;
  std::map<int, Expr> none;
  int64_t m = 1;
  for (const int variable : variables(whole)) {
    none.emplace(variable, te::index(0));
    const Expr next = substitute(whole, {{variable, loop_variable(variable) + 1}});
    const auto step = te::as_constant(te::simplify_index(next - whole));
    if (!step) return comparison;
    steps[variable] = *step;
    m = std::max(m, std::abs(*step));
  }
  Expr rest = substitute(whole, none), quotient = te::index(0);
  bool drops = false;
  for (const auto& [variable, step] : steps) {
    if (step % m == 0) {
      quotient = quotient + loop_variable(variable) * (step / m);
    } else {
      rest = rest + loop_variable(variable) * step;
      drops = true;
    }
  }
  const te::Interval range = te::bounds(te::simplify_index(rest, ranges), ranges);
  if (!drops || !range.low || !range.high) return comparison;
  const auto floored = [&](int64_t r) { return (r >= 0 ? r : r - m + 1) / m; };
  if (floored(*range.low) != floored(*range.high)) return comparison;
  return te::simplify_index(te::index(0) <= quotient + te::index(floored(*range.low)), ranges);
}

/// Without the parts of a conjunction that always hold.
Expr simplified(const Expr& condition, const te::Ranges& ranges) {
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd)
    return both(simplified(e->left, ranges), simplified(e->right, ranges));
  if (!loads(condition).empty()) return condition;
  const Expr result = te::simplify_index(without_remainder(condition, ranges), ranges);
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

/// Whether the predicate bounds a tile of results: its loops, written out and of lanes, are `inner` ones of a
/// reduction.
bool is_of_tile(const Expr& condition, const std::vector<const Loop*>& inner) {
  const std::set<int> read = variables(condition);
  return std::any_of(inner.begin(), inner.end(),
                     [&](const Loop* loop) { return is_written_out(loop->kind) && read.contains(loop->variable); });
}

/// When the parts of a conjunction that bound a tile hold in all of it; those parts are left out of `rest`. Nothing
/// where that is not known.
std::optional<Expr> holds_throughout(const Expr& condition, const std::vector<const Loop*>& inner,
                                     const OpenSizes& sizes, Expr& rest) {
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) {
    const auto left = holds_throughout(e->left, inner, sizes, rest),
               right = holds_throughout(e->right, inner, sizes, rest);
    return left && right ? std::optional(both(*left, *right)) : std::nullopt;
  }
  if (!is_of_tile(condition, inner)) {
    rest = both(rest, condition);
    return Expr();
  }
  const Expr gap = at_least_zero(condition);
  const auto span = gap && !sizes.reads_data(gap) ? span_of(gap, inner) : std::nullopt;
  if (!span) return std::nullopt;
  return te::index(0) <= span->minimum;
}

/// The loops of a nest that holds a reduction's tile alone, from a loop of the reduction on; empty: it is something
/// else, or would be long when it is written out twice.
std::vector<const Loop*> loops_of_tile(const Loop& outermost, const Block& block) {
  constexpr int64_t kMostWrittenOut = 128;
  std::vector<const Loop*> loops;
  int64_t written_out = 1;
  for (const Loop* loop = &outermost; loop; loop = std::get_if<Loop>(&loop->body.front().node)) {
    const bool is_written_out = loop->kind == LoopKind::kUnrolled;
    const bool is_of_reduction = loop->kind == LoopKind::kSerial && reads_any(block.reduce, loop->variable);
    if (!is_written_out && !is_of_reduction && loop->kind != LoopKind::kVectorized) return {};
    if (is_written_out) written_out *= te::as_constant(loop->extent).value_or(kMostWrittenOut + 1);
    if (written_out > kMostWrittenOut) return {};
    loops.push_back(loop);
  }
  return loops;
}

/// A tile that a bound may cut through becomes two: one without the bound for where it lies inside of it, and the one
/// that there was.
void separate_whole_tiles(Kernel& kernel, const OpenSizes& sizes, Statements& statements, LoopRanges& ranges) {
  for (Statement& statement : statements) {
    if (auto* branch = std::get_if<Branch>(&statement.node)) {
      separate_whole_tiles(kernel, sizes, branch->then, ranges);
      separate_whole_tiles(kernel, sizes, branch->otherwise, ranges);
    }
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop || loop->annotations.contains(kMma)) continue;
    const Block* const block = only_block(statement);
    auto inner =
        block && block->predicate && block->is_reduction() ? loops_of_tile(*loop, *block) : std::vector<const Loop*>();
    // Steps of a window that moves over borders that data decide are asked one by one: few of them reach beyond.
    if (!inner.empty() && !loads(block->predicate).empty() && loop->kind == LoopKind::kSerial &&
        depends_on(block->predicate, loop->variable))
      inner.clear();
    Expr rest;
    const auto is_whole = inner.empty() ? std::nullopt : holds_throughout(block->predicate, inner, sizes, rest);
    const Expr condition = is_whole && *is_whole ? te::simplify_index(*is_whole, ranges.ranges()) : Expr();
    if (condition && condition != te::truth(false)) {
      Statements whole = {statement};
      only_block(whole.front())->predicate = rest;
      std::map<int, Expr> renamed;
      rename_copy(kernel, whole, ".whole", renamed);
      rewrite_expressions(whole, [&](const Expr& e) { return te::simplify_data(substitute(e, renamed)); });
      statement.node = Branch{condition, std::move(whole), {std::exchange(statement, {})}};
    } else if (inner.empty()) {
      ranges.enter(*loop);
      separate_whole_tiles(kernel, sizes, loop->body, ranges);
      ranges.leave(*loop);
    }
  }
}

void hoist(Statements& statements) {
  for (Statement& statement : statements) {
    if (auto* branch = std::get_if<Branch>(&statement.node)) {
      hoist(branch->then);
      hoist(branch->otherwise);
    }
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop || loop->annotations.contains(kMma)) continue;
    Block* const block = only_block(statement);
    if (block && block->predicate && loop->kind != LoopKind::kParallel && !is_block(loop->kind)) {
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
  separate_whole_tiles(kernel, OpenSizes(kernel), kernel.body, ranges);
  for (Statement& root : kernel.body)
    if (auto* loop = std::get_if<Loop>(&root.node)) hoist(loop->body);
}

}  // namespace isomer::kernel
