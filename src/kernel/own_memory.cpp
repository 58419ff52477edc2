#include "kernel/own_memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "kernel/launch.h"
#include "kernel/tree.h"
#include "kernel/uses.h"

namespace isomer::kernel {
namespace {

/// So many elements from one iteration of a loop to the next.
struct Step {
  int64_t size = 0, extent = 0;
  const Loop* loop = nullptr;
};

/// An index that moves evenly in the variables of loops: the greatest steps first, so that no two points meet.
struct EvenIndex {
  int64_t constant = 0;
  std::vector<Step> steps;
};

/// Nothing where it moves otherwise, or points may meet.
std::optional<EvenIndex> even_index(const Expr& expr, const std::vector<const Loop*>& loops) {
  EvenIndex result;
  const Expr index = te::simplify_index(expr);
  const std::set<int> read = variables(index);
  std::map<int, Expr> zeros;
  Expr sum = te::index(0);
  for (const Loop* loop : loops) {
    if (!read.contains(loop->variable)) continue;
    const Expr variable = loop_variable(loop->variable);
    const auto size = te::as_constant(te::simplify_index(substitute(index, {{loop->variable, variable + 1}}) - index));
    const auto extent = te::as_constant(loop->extent);
    if (!size || !extent || *size <= 0) return std::nullopt;
    zeros.emplace(loop->variable, te::index(0));
    sum = sum + variable * te::index(*size);
    if (*extent > 1) result.steps.push_back({*size, *extent, loop});
  }
  const auto constant = te::as_constant(te::simplify_index(substitute(index, zeros)));
  if (!constant || te::as_constant(te::simplify_index(index - sum)) != constant) return std::nullopt;
  result.constant = *constant;
  std::ranges::sort(result.steps, std::greater<>(), &Step::size);
  int64_t reach = 0;
  for (auto step = result.steps.rbegin(); step != result.steps.rend(); ++step) {
    if (step->size <= reach) return std::nullopt;
    reach += step->size * (step->extent - 1);
  }
  return result;
}

/// How the uses of a buffer share it among threads.
class Sharing {
 public:
  Sharing(const Launch& launch, std::vector<const Use*> uses) : launch_(launch), uses_(std::move(uses)) {}

  /// Whether each thread uses its own; then, by axis, whether threads have elements apart.
  std::optional<std::array<bool, 3>> apart() const {
    std::array<bool, 3> result = {};
    for (size_t axis = 0; axis < 3; ++axis) {
      if (launch_.threads[axis] == 1) continue;
      const auto loop_of = [&](const Use* use) {
        return use->is_of_lanes && axis == 0 ? nullptr : threads_around(use->loops)[axis];
      };
      const auto is_of_all = [&](const Use* use) { return !use->is_write || !loop_of(use); };
      if (std::ranges::all_of(uses_, is_of_all)) continue;
      result[axis] = std::ranges::any_of(uses_, [&](const Use* use) { return loop_of(use) != loop_of(uses_.front()); });
    }
    if (std::ranges::any_of(result, std::identity()) && !are_alike(result)) return std::nullopt;
    return result;
  }

 private:
  /// Whether all uses move alike: the same steps of loops, of the same axes where they run over threads; and those over
  /// threads that have elements apart all move.
  bool are_alike(const std::array<bool, 3>& apart) const {
    using Move = std::tuple<int64_t, int64_t, LoopKind>;
    std::vector<std::vector<Move>> first;
    for (const Use* use : uses_) {
      std::vector<std::vector<Move>> moves;
      std::array<bool, 3> is_moved = {};
      for (const Expr& index : use->index) {
        const auto even = even_index(index, use->loops);
        if (!even) return false;
        moves.push_back({{even->constant, 0, LoopKind::kSerial}});
        for (const Step& step : even->steps) {
          const bool is_of_thread = is_thread(step.loop->kind);
          if (is_block(step.loop->kind)) return false;
          if (is_of_thread) {
            const size_t axis = axis_of(step.loop->kind);
            if (!apart[axis] || threads_around(use->loops)[axis] != step.loop) return false;
            is_moved[axis] = true;
          }
          moves.back().emplace_back(step.size, step.extent, is_of_thread ? step.loop->kind : LoopKind::kSerial);
        }
      }
      for (size_t axis = 0; axis < 3; ++axis)
        if (apart[axis] && (!is_moved[axis] || (use->is_of_lanes && axis == 0))) return false;
      if (use == uses_.front()) first = moves;
      if (moves != first) return false;
    }
    return true;
  }

  const Launch launch_;
  std::vector<const Use*> uses_;
};

std::map<int, std::vector<const Use*>> by_buffer(const std::vector<Use>& uses) {
  std::map<int, std::vector<const Use*>> result;
  for (const Use& use : uses) result[use.buffer].push_back(&use);
  return result;
}

/// Where an element lies in the part of its thread, over all dims: the steps of loops that run over no threads.
std::vector<Step> own_steps(const std::vector<Expr>& index, const std::vector<const Loop*>& loops) {
  std::vector<Step> result;
  for (const Expr& each : index) {
    const auto even = even_index(each, loops);
    std::ranges::copy_if(even->steps, std::back_inserter(result),
                         [](const Step& step) { return !is_thread(step.loop->kind); });
  }
  return result;
}

/// The kernel's uses of a buffer in this launch, in the part of their thread.
void use_own_part(Kernel& kernel, int buffer, const std::vector<const Use*>& uses) {
  Shape& shape = kernel.buffers[static_cast<size_t>(buffer)].shape;
  shape.clear();
  for (const Step& step : own_steps(uses.front()->index, uses.front()->loops)) shape.emplace_back(step.extent);
  std::map<std::string, std::vector<const Loop*>> loops;
  for (const Use* use : uses) loops.emplace(use->block, use->loops);
  edit_blocks(kernel.body, [&](Block& block) {
    const auto around = loops.find(block.name);
    if (around == loops.end()) return;
    const auto place = [&](const std::vector<Expr>& index) {
      std::vector<Expr> bound, result;
      for (const Expr& each : index) bound.push_back(bind_iterators(block, each));
      for (const Step& step : own_steps(bound, around->second)) result.push_back(loop_variable(step.loop->variable));
      return result;
    };
    const auto rewritten = [&](const Expr& expr) {
      return te::transform(expr, [&](const Expr& e) -> Expr {
        const auto* load = te::as<te::Load>(e);
        return load && load->buffer.index == buffer ? load_buffer(kernel, buffer, place(load->index)) : Expr();
      });
    };
    for (Write& write : block.writes) {
      for (Expr& each : write.index) each = rewritten(each);
      if (write.buffer == buffer) write.index = place(write.index);
    }
    for (Expr& body : block.bodies) body = rewritten(body);
    if (block.predicate) block.predicate = rewritten(block.predicate);
  });
}

}  // namespace

Result<void> check_own_memory(const Kernel& kernel, const Statement& root) {
  const std::vector<Use> uses = private_uses_of(kernel, root);
  for (const auto& [buffer, all] : by_buffer(uses))
    if (!Sharing(launch_of(root), all).apart())
      return invalid(all.back()->block,
                     "'{}', memory of a thread, in the loops over threads expected that {} uses it in",
                     kernel.buffers[static_cast<size_t>(buffer)].name, all.front()->block);
  return {};
}

Kernel with_own_memory(const Kernel& kernel) {
  Kernel result = kernel;
  for (const LaunchPlace& place : launches_of(kernel)) {
    const Statement& root = place.in(kernel);
    const std::vector<Use> uses = private_uses_of(kernel, root);
    for (const auto& [buffer, all] : by_buffer(uses)) {
      const auto apart = Sharing(launch_of(root), all).apart();
      if (apart && std::ranges::any_of(*apart, std::identity())) use_own_part(result, buffer, all);
    }
  }
  return result;
}

}  // namespace isomer::kernel
