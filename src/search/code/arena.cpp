#include "search/code/arena.h"

#include <algorithm>
#include <map>

#include "runtime/memory_plan.h"

namespace isomer::search {
namespace {

using runtime::Lifetime;

/// Numbers the steps in the order in which they run, those of bodies too.
class Lifetimes {
 public:
  explicit Lifetimes(const runtime::Variant& variant) : variant_(variant) {
    walk(variant.steps);
    for (const auto& [first, last] : loops_)
      for (auto& [value, lifetime] : lifetimes) {
        const bool meets = lifetime.first_step <= last && first <= lifetime.last_step;
        const bool is_inside = first <= lifetime.first_step && lifetime.last_step <= last;
        if (!meets || is_inside) continue;
        lifetime.first_step = std::min(lifetime.first_step, first);
        lifetime.last_step = std::max(lifetime.last_step, last);
      }
  }

  std::map<int32_t, Lifetime> lifetimes;

 private:
  void walk(const std::vector<runtime::Step>& steps) {
    for (const runtime::Step& step : steps) {
      ++now_;
      std::visit([&](const auto& action) { visit(action); }, step.action);
    }
  }
  void visit(const runtime::KernelStep& step) {
    for (const int32_t argument : step.arguments) use(argument);
  }
  void visit(const runtime::CopyStep& step) { use(step.move); }
  void visit(const runtime::ShapeStep& step) {
    use(step.of);
    use(step.to);
  }
  void visit(const runtime::BranchStep& step) {
    use(step.condition);
    walk(step.then_body);
    walk(step.else_body);
  }
  void visit(const runtime::LoopStep& step) {
    const int64_t first = now_;
    const auto control = [&] {
      for (const int32_t value : {step.trip_count, step.condition, step.iteration}) use(value);
      for (const runtime::Stack& stack : step.stacks) use(stack.to);
    };
    control();
    walk(step.body);
    control();
    for (const runtime::Stack& stack : step.stacks) use(stack.from);
    loops_.emplace_back(first, now_);
  }
  void walk(const runtime::Body& body) {
    walk(body.steps);
    ++now_;
    for (const runtime::Move& move : body.moves) use(move);
  }

  void use(const runtime::Move& move) {
    use(move.from);
    use(move.to);
  }
  void use(int32_t value) {
    if (value < 0) return;
    if (const auto* view = std::get_if<runtime::ViewOf>(&variant_.values[value].place)) value = view->value;
    if (!std::holds_alternative<runtime::InArena>(variant_.values[value].place)) return;
    lifetimes.try_emplace(value, Lifetime{variant_.values[value].bytes, now_, now_}).first->second.last_step = now_;
  }

  const runtime::Variant& variant_;
  int64_t now_ = 0;
  std::vector<std::pair<int64_t, int64_t>> loops_;  ///< first and last step
};

}  // namespace

void place_in_arena(runtime::Variant& variant) {
  const auto lifetimes = Lifetimes(variant).lifetimes;
  std::vector<Lifetime> list;
  for (const auto& [value, lifetime] : lifetimes) list.push_back(lifetime);
  const runtime::MemoryPlan plan = runtime::plan_memory(list);
  size_t next = 0;
  for (const auto& [value, lifetime] : lifetimes) variant.values[value].place = runtime::InArena{plan.offsets[next++]};
  variant.arena_bytes = plan.arena_bytes;
}

}  // namespace isomer::search
