#include "kernel/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/own_memory.h"
#include "kernel/tree.h"
#include "kernel/uses.h"

namespace isomer::kernel {
namespace {

constexpr int64_t kMostThreads = 1024;

void add_loops(const Statements& statements, Launch& launch) {
  for (const Statement& statement : statements) {
    if (const auto* branch = std::get_if<Branch>(&statement.node)) {
      add_loops(branch->then, launch);
      add_loops(branch->otherwise, launch);
    }
    const auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    if (is_bound(loop->kind)) {
      int64_t& extent = (is_block(loop->kind) ? launch.blocks : launch.threads)[axis_of(loop->kind)];
      extent = std::max(extent, te::as_constant(loop->extent).value_or(1));
    }
    add_loops(loop->body, launch);
  }
}

/// Of loops of one axis around a block only the innermost decides what it computes.
Result<void> check_nested(const Block& block, const std::vector<const Loop*>& loops) {
  const auto effective = threads_around(loops);
  for (const Loop* loop : loops) {
    if (!is_thread(loop->kind) || effective[axis_of(loop->kind)] == loop) continue;
    const bool is_read = reads_any(block.axes, loop->variable) || reads_any(block.reduce, loop->variable) ||
                         (block.predicate && depends_on(block.predicate, loop->variable));
    if (is_read)
      return invalid(block.name, "the innermost loop over {} alone expected to decide what is computed, k{} does too",
                     name(loop->kind), loop->variable);
  }
  return {};
}

/// Whole warps come to reductions between lanes: no thread of one is elsewhere.
class LanesCheck {
 public:
  explicit LanesCheck(const Launch& launch) : launch_(launch) {}

  Result<void> check(const Statements& statements) {
    for (const Statement& statement : statements) TRY_VOID(check(statement));
    return {};
  }

 private:
  Result<void> check(const Statement& statement) {
    if (const auto* block = std::get_if<Block>(&statement.node)) return check(*block);
    if (const auto* loop = std::get_if<Loop>(&statement.node)) {
      const bool diverges = diverges_;
      diverges_ |= depends_on_lane(loop->extent);
      loops_.push_back(loop);
      TRY_VOID(check(loop->body));
      loops_.pop_back();
      diverges_ = diverges;
      return {};
    }
    const auto check_inside = [&](const Expr& condition, const Statements& inside) -> Result<void> {
      const bool diverges = diverges_;
      diverges_ |= depends_on_lane(condition);
      TRY_VOID(check(inside));
      diverges_ = diverges;
      return {};
    };
    if (const auto* branch = std::get_if<Branch>(&statement.node)) {
      TRY_VOID(check_inside(branch->condition, branch->then));
      return check_inside(branch->condition, branch->otherwise);
    }
    if (const auto* loop = std::get_if<While>(&statement.node)) return check_inside(loop->condition, loop->body);
    return {};
  }

  Result<void> check(const Block& block) {
    const Loop* lanes = lanes_of_reduction(block, loops_);
    if (!lanes) return {};
    if (const auto why = why_not_between_lanes(block, *lanes)) return invalid(block.name, "{}", *why);
    if (launch_.threads[0] != kLanes || threads_around(loops_)[0] != lanes)
      return invalid(block.name, "{} threads along x expected where it reduces over them, {} found", kLanes,
                     launch_.threads[0]);
    if (diverges_ || depends_on_lane(block.predicate))
      return invalid(block.name,
                     "no condition that depends on the thread or on data expected, where it reduces over threads");
    return {};
  }

  bool depends_on_lane(const Expr& expr) const {
    if (!expr) return false;
    const std::set<int> read = variables(expr);
    return te::has_load(expr) || std::ranges::any_of(loops_, [&](const Loop* loop) {
             return loop->kind == LoopKind::kThreadX && read.contains(loop->variable);
           });
  }

  const Launch launch_;
  std::vector<const Loop*> loops_;
  bool diverges_ = false;
};

/// Blocks of threads run in any order, in each of the turns.
Result<void> check_arguments(const Kernel& kernel, const Statement& root, const Loop* turns) {
  const std::vector<Use> uses = uses_of(kernel, root);
  for (const Use& write : uses) {
    if (!write.is_write || kernel.buffers[static_cast<size_t>(write.buffer)].scope != Scope::kArgument) continue;
    for (const Loop* grid : write.loops) {
      if (!is_block(grid->kind) || te::as_constant(grid->extent) == 1) continue;
      for (const Use& use : uses)
        if (use.buffer == write.buffer && !is_of_one_block(write, use, *grid) &&
            !(turns && are_apart(write, use, *turns)))
          return invalid(use.block, "elements of '{}' expected that no other {} than its own writes, in {}",
                         kernel.buffers[static_cast<size_t>(write.buffer)].name, name(grid->kind), write.block);
    }
  }
  return {};
}

Result<void> check_launch(const Kernel& kernel, const Statement& root, const Loop* turns) {
  const Launch launch = launch_of(root);
  if (launch == Launch()) return {};
  if (launch.threads_of_block() > kMostThreads)
    return invalid("", "at most {} threads a block expected, {} found", kMostThreads, launch.threads_of_block());
  Result<void> nested;
  for_each_block(root, [&](const Block& block, const std::vector<const Loop*>& loops) {
    if (nested.ok()) nested = check_nested(block, loops);
  });
  TRY_VOID(std::move(nested));
  TRY_VOID(LanesCheck(launch).check(Statements{root}));
  TRY_VOID(check_own_memory(kernel, root));
  return check_arguments(kernel, root, turns);
}

}  // namespace

size_t axis_of(LoopKind kind) { return (static_cast<size_t>(kind) - static_cast<size_t>(kBoundKinds.front())) % 3; }

Launch launch_of(const Statement& statement) {
  Launch launch;
  add_loops({statement}, launch);
  return launch;
}

const Loop* LaunchPlace::turns(const Kernel& kernel) const {
  return step ? &std::get<Loop>(kernel.body[root].node) : nullptr;
}
const Statement& LaunchPlace::in(const Kernel& kernel) const {
  return step ? turns(kernel)->body[*step] : kernel.body[root];
}
Statement& LaunchPlace::in(Kernel& kernel) const {
  return step ? std::get<Loop>(kernel.body[root].node).body[*step] : kernel.body[root];
}

std::vector<LaunchPlace> launches_of(const Kernel& kernel) {
  const auto is_bound = [](const Statement& statement) { return launch_of(statement) != Launch(); };
  std::vector<LaunchPlace> result;
  for (size_t root = 0; root < kernel.body.size(); ++root) {
    const auto* turns = std::get_if<Loop>(&kernel.body[root].node);
    const bool takes_turns = turns && turns->ordered && te::as_constant(turns->extent) &&
                             std::any_of(turns->body.begin(), turns->body.end(), is_bound);
    if (!takes_turns) result.push_back({root, std::nullopt});
    for (size_t step = 0; takes_turns && step < turns->body.size(); ++step) result.push_back({root, step});
  }
  return result;
}

std::array<const Loop*, 3> threads_around(const std::vector<const Loop*>& loops) {
  std::array<const Loop*, 3> result = {};
  for (const Loop* loop : loops)
    if (is_thread(loop->kind)) result[axis_of(loop->kind)] = loop;
  return result;
}

const Loop* lanes_of_reduction(const Block& block, const std::vector<const Loop*>& loops) {
  const auto lanes = std::ranges::find_if(
      loops, [&](const Loop* loop) { return is_thread(loop->kind) && reads_any(block.reduce, loop->variable); });
  return lanes == loops.end() ? nullptr : *lanes;
}

std::optional<std::string> why_not_between_lanes(const Block& block, const Loop& loop) {
  if (loop.kind != LoopKind::kThreadX || te::as_constant(loop.extent) != kLanes)
    return fmt::format("{} threads along x expected to reduce over", kLanes);
  if (!block.is_reduction() || !block.initialize || !block.combine.commutative || block.reduce.size() != 1 ||
      !(block.reduce[0].binding == loop_variable(loop.variable)) || reads_any(block.axes, loop.variable))
    return "a commutative reduction, with its initialization, over threads alone expected";
  return std::nullopt;
}

Result<void> check_launches(const Kernel& kernel) {
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].scope != Scope::kShared) continue;
    const auto nests = std::count_if(kernel.body.begin(), kernel.body.end(),
                                     [&](const Statement& root) { return touches(root, static_cast<int>(b)); });
    if (nests > 1)
      return invalid(kernel.buffers[b].name, "uses in one nest expected, as it is shared, {} nests have some", nests);
  }
  for (const LaunchPlace& place : launches_of(kernel))
    TRY_VOID(check_launch(kernel, place.in(kernel), place.turns(kernel)));
  return {};
}

}  // namespace isomer::kernel
