#include "search/strategies/states.h"
#include "util/stable_sort.h"

#include <algorithm>
#include <array>

#include "util/stop.h"

namespace isomer::search {

using substitutions::Match;
using substitutions::Program;

/// Of the first state's cost, that each step has to save: what measuring is off must not pay for rewrites.
constexpr double kStepPrice = 0.002;

std::string_view name(StopReason reason) {
  constexpr std::array<std::string_view, 8> kNames = {"nothing left to try", "step limit",  "round limit",
                                                      "application limit",   "state limit", "measurement limit",
                                                      "time limit",          "interrupted"};
  return kNames[static_cast<size_t>(reason)];
}

Expander::Expander(substitutions::Substitutions& rules, CostChanges& changes, const SearchLimits& limits,
                   std::function<bool(int)> allowed, std::function<bool(const Program&)> welcome,
                   std::function<bool(int)> has_paid)
    : rules_(rules),
      changes_(changes),
      limits_(limits),
      allowed_(std::move(allowed)),
      welcome_(std::move(welcome)),
      has_paid_(std::move(has_paid)),
      end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(limits.seconds))) {}

namespace {

bool is_constant(const Program& program, int application) {
  return program.value(program.application(application).first_value).is_constant;
}

int computing(const Program& program) {
  int count = 0;
  for (int id = 0; id < program.application_count(); ++id) count += program.contains(id) && !is_constant(program, id);
  return count;
}

}  // namespace

bool Expander::allows(const Program& program, const Match& match) const {
  return (!allowed_ || allowed_(match.substitution)) &&
         std::any_of(match.applications.begin(), match.applications.end(),
                     [&](int id) { return !is_constant(program, id); });
}

Result<StatePtr> Expander::first(Program program) {
  TRY(const Cost cost, changes_.whole(program, Effort::kMeasure));
  price_ = kStepPrice * cost.microseconds;
  most_ = computing(program) + limits_.growth;
  seen_.insert(program.hash());
  auto state = std::make_shared<State>(State{std::move(program), cost.microseconds, nullptr, {}, {}, {}, 0});
  find_matches(*state);
  return state;
}

void Expander::find_matches(State& state) {
  if (!state.parent) {
    state.matches = rules_.matches(state.program);
  } else {
    for (const Match& match : state.parent->matches)
      if (rules_.is_still_there(state.program, match)) state.matches.push_back(match);
    for (Match& match : rules_.matches_near(state.program, state.changed))
      if (std::find(state.matches.begin(), state.matches.end(), match) == state.matches.end())
        state.matches.push_back(std::move(match));
  }
  std::erase_if(state.matches, [&](const Match& match) { return !allows(state.program, match); });
  statistics_.matches += static_cast<int64_t>(state.matches.size());
}

bool Expander::is_late() {
  if (!stop_ && (std::chrono::steady_clock::now() > end_ || !check_stop().ok())) stop_ = StopReason::kTime;
  return stop_.has_value();
}

std::optional<substitutions::Rewritten> Expander::rewritten(const Program& program, const Match& match, int most) {
  auto done = apply(program, match, rules_);
  auto* made = std::get_if<substitutions::Rewritten>(&done);
  ++(made ? statistics_.applied : statistics_.refused);
  if (!made || computing(made->program) > most || !changes_.can_be_folded(*made)) return std::nullopt;
  if (seen_.insert(made->program.hash()).second) return std::move(*made);
  ++statistics_.seen;
  return std::nullopt;
}

std::vector<Child> Expander::children(const StatePtr& state, Moves moves) {
  std::vector<Child> result;
  ++statistics_.expanded;
  const int most = std::min(most_, computing(state->program) + limits_.added);
  for (const Match& match : state->matches) {
    if (is_late()) break;
    auto made = rewritten(state->program, match, most);
    if (!made) continue;
    const CostChanges::Effect effect = changes_.effect(state->program, *made);
    if (moves == Moves::kThatMaySave && effect == CostChanges::Effect::kAdds) continue;
    const double estimate = state->cost + price_ + changes_.estimate(state->program, *made);
    result.push_back({state, match, *std::move(made), effect, estimate, {estimate, false}});
  }
  return result;
}

bool Expander::count(Effort effort) {
  if (is_late()) return false;
  if (statistics_.costed >= limits_.states) stop_ = StopReason::kStates;
  if (statistics_.measured >= limits_.measurements) stop_ = StopReason::kMeasurements;
  if (stop_) return false;
  ++(effort == Effort::kMeasure ? statistics_.measured : statistics_.costed);
  return true;
}

bool Expander::cost(Child& child, Effort effort) {
  if (!count(effort)) return false;
  const auto change = changes_.change(child.parent->program, child.rewritten, effort);
  if (!change.ok()) return false;
  child.cost = {child.parent->cost + price_ + change->microseconds, change->is_measured};
  return true;
}

bool Expander::measure(Child& child) {
  // There is no time for a proof either.
  if (!child.cost.is_measured && is_late()) return false;
  return is_proved(child) && (child.cost.is_measured || cost(child, Effort::kMeasure));
}

bool Expander::cost(State& state, Effort effort) {
  if (!count(effort)) return false;
  const auto whole = changes_.whole(state.program, effort);
  if (!whole.ok()) return false;
  state.cost = whole->microseconds + price_ * state.depth;
  return true;
}

StatePtr Expander::state_of(Child child) {
  auto state = std::make_shared<State>(State{std::move(child.rewritten.program),
                                             child.cost.microseconds,
                                             child.parent,
                                             std::move(child.match),
                                             std::move(child.rewritten.changed),
                                             {},
                                             child.parent->depth + 1});
  find_matches(*state);
  if (child.cost.is_measured) keep(state);
  return state;
}

namespace {

std::vector<Match> steps_to(const State& end) {
  std::vector<Match> result;
  for (const State* state = &end; state->parent; state = state->parent.get()) result.push_back(state->step);
  std::reverse(result.begin(), result.end());
  return result;
}

/// Sorted.
std::vector<int> substitutions_of(std::span<const Match> steps) {
  std::vector<int> result;
  for (const Match& step : steps) result.push_back(step.substitution);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

void Expander::keep(const StatePtr& state) {
  // The best one is among them.
  const size_t most = static_cast<size_t>(limits_.alternatives) + 1;
  if (limits_.alternatives == 0 || !is_welcome(*state)) return;
  const auto [known, is_new] = kept_.try_emplace(substitutions_of(steps_to(*state)), state);
  if (!is_new && state->cost < known->second->cost) known->second = state;
  if (kept_.size() <= most) return;
  kept_.erase(std::max_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->cost, a.first) < std::pair(b.second->cost, b.first);
  }));
}

namespace {

bool saves(const Child& child) { return child.cost.microseconds < child.parent->cost; }

}  // namespace

StatePtr Expander::one_after_the_other(std::span<const Child* const> children, bool must_save) {
  const auto first = std::ranges::find_if(children, [&](const Child* child) { return is_proved(*child); });
  if (children.end() - first < 2) return nullptr;
  StatePtr state = state_of(**first);
  const int first_depth = state->depth;
  for (const Child* each : std::span(first + 1, children.end())) {
    if (is_late()) break;
    if (!rules_.is_still_there(state->program, each->match)) continue;
    auto made = rewritten(state->program, each->match, computing(state->program) + limits_.added);
    if (!made) continue;
    Child child{state, each->match, *std::move(made), {}, 0, {0, false}};
    if (measure(child) && (!must_save || saves(child))) state = state_of(std::move(child));
  }
  if (state->depth == first_depth) return nullptr;
  most_ = std::max(most_, computing(state->program) + limits_.growth);
  return state;
}

StatePtr Expander::together(std::span<const Child> children) {
  std::vector<const Child*> saving;
  std::set<int> substitutions;
  for (const Child& child : children)
    if (child.cost.is_measured && saves(child) && (saving.empty() || child.parent == saving.front()->parent)) {
      saving.push_back(&child);
      substitutions.insert(child.match.substitution);
    }
  for (const Child& child : children)
    if (!saving.empty() && !child.cost.is_measured && saves(child) && child.parent == saving.front()->parent &&
        substitutions.contains(child.match.substitution))
      saving.push_back(&child);
  return one_after_the_other(saving, true);
}

StatePtr Expander::other_sums(std::span<const Child> children, size_t kept) {
  const auto is_other = [](const Child& child) { return child.effect == CostChanges::Effect::kOtherSum; };
  const auto end = children.begin() + static_cast<std::ptrdiff_t>(kept);
  const auto first = std::find_if(children.begin(), end, is_other);
  if (first == end) return nullptr;
  std::vector<const Child*> all = {&*first};
  for (const Child& child : children)
    if (&child != &*first && is_other(child) && child.parent == first->parent &&
        child.match.substitution == first->match.substitution)
      all.push_back(&child);
  return one_after_the_other(all, false);
}

void Expander::keep_singles(std::vector<Child>& children) {
  for (Child& child : children) {
    if (static_cast<int>(singles_.size()) >= limits_.singles) break;
    if (measure(child)) singles_.push_back({child.match, child.parent->cost + price_ - child.cost.microseconds});
  }
}

void Expander::keep_alternatives(std::span<const Child> children) {
  // A strategy may come to the same states.
  const auto seen = seen_;
  const int most_applications = most_;
  std::set<int> substitutions;
  for (const Child& child : children) {
    if (static_cast<int>(substitutions.size()) >= limits_.alternatives) break;
    const double most = limits_.alternative * child.parent->cost;
    if (child.cost.microseconds > most || substitutions.contains(child.match.substitution)) continue;
    Child measured = child;
    if (!measure(measured)) continue;
    if (measured.cost.microseconds > most) continue;
    substitutions.insert(child.match.substitution);
    state_of(std::move(measured));
    std::vector<const Child*> alike;
    for (const Child& other : children)
      if (other.match.substitution == child.match.substitution) alike.push_back(&other);
    one_after_the_other(alike, false);
  }
  seen_ = seen;
  most_ = most_applications;
}

Searched Expander::result(const StatePtr& first, const StatePtr& best, StopReason otherwise) const {
  const auto saved = [&](const State& state) { return first->cost - state.cost + price_ * state.depth; };
  Searched result;
  result.steps = steps_to(*best);
  result.cost = first->cost;
  result.saved = saved(*best);
  result.stop = stop_.value_or(otherwise);
  result.singles = singles_;
  result.statistics = statistics_;
  for (const auto& [substitutions, state] : kept_)
    if (state->cost <= limits_.alternative * best->cost && substitutions != substitutions_of(result.steps))
      result.alternatives.push_back({steps_to(*state), saved(*state)});
  stable_sort(result.alternatives, [](const auto& a, const auto& b) { return a.saved > b.saved; });
  if (result.alternatives.size() > static_cast<size_t>(limits_.alternatives))
    result.alternatives.resize(static_cast<size_t>(limits_.alternatives));
  return result;
}

namespace {

bool is_cheaper(const Child& a, const Child& b) { return a.cost.microseconds < b.cost.microseconds; }

}  // namespace

void look_at(std::vector<Child>& children, Expander& expander) {
  stable_sort(children, [&](const Child& a, const Child& b) {
    return std::pair(!expander.has_paid(a), a.estimate) < std::pair(!expander.has_paid(b), b.estimate);
  });
  if (children.size() > static_cast<size_t>(expander.limits().looked_at))
    children.erase(children.begin() + expander.limits().looked_at, children.end());
  std::erase_if(children, [&](Child& child) { return !expander.cost(child, Effort::kLookUp); });
  stable_sort(children, is_cheaper);
}

namespace {

/// Measures the cheapest ones, at most `count`, that cost no more than alpha times `best` then. Estimates decide which
/// are measured first. Those come first, the cheapest of them first.
size_t measure(std::vector<Child>& children, size_t count, double best, Expander& expander) {
  const SearchLimits& limits = expander.limits();
  std::vector<Child> result, others;
  for (Child& child : children) {
    const double most =
        best * (child.effect == CostChanges::Effect::kOtherSum ? limits.alpha_of_other_sums : limits.alpha);
    const bool is_wanted = result.size() < count && child.cost.microseconds <= most;
    if (is_wanted && !expander.measure(child)) continue;
    (is_wanted && child.cost.microseconds <= most ? result : others).push_back(std::move(child));
  }
  stable_sort(result, is_cheaper);
  const size_t measured = result.size();
  std::move(others.begin(), others.end(), std::back_inserter(result));
  children = std::move(result);
  return measured;
}

/// The same of the first state's, and what is told of them. What promised least comes last: time may be short.
size_t measure_first(std::vector<Child>& children, size_t count, double best, Expander& expander) {
  measure(children, count, best, expander);
  expander.keep_singles(children);
  // One of those may have cost less than was estimated.
  const size_t measured = measure(children, count, best, expander);
  expander.keep_alternatives(children);
  return measured;
}

}  // namespace

Result<Searched> beam_search(Program program, Expander& expander) {
  TRY(const StatePtr first, expander.first(std::move(program)));
  const SearchLimits& limits = expander.limits();
  StatePtr best = first;
  std::vector<StatePtr> beam = {first};
  int since_better = 0;
  for (int step = 1; !beam.empty(); ++step) {
    if (step > limits.steps) return expander.result(first, best, StopReason::kSteps);
    std::vector<Child> children;
    for (const StatePtr& state : beam)
      for (Child& child : expander.children(state)) children.push_back(std::move(child));
    look_at(children, expander);
    beam.clear();
    const size_t kept = step == 1 ? measure_first(children, static_cast<size_t>(limits.width), best->cost, expander)
                                  : measure(children, static_cast<size_t>(limits.width), best->cost, expander);
    if (StatePtr joint = expander.together(children)) beam.push_back(std::move(joint));
    if (StatePtr joint = expander.other_sums(children, kept);
        joint && joint->cost <= limits.alpha_of_other_sums * best->cost)
      beam.push_back(std::move(joint));
    for (size_t k = 0; k < kept; ++k) beam.push_back(expander.state_of(std::move(children[k])));
    stable_sort(beam, [](const StatePtr& a, const StatePtr& b) { return a->cost < b->cost; });
    if (!beam.empty()) expander.statistics().deepest = step;
    ++since_better;
    for (const StatePtr& state : beam) {
      if (state->cost >= best->cost) break;
      if (!expander.is_welcome(*state)) continue;
      best = state;
      since_better = 0;
      break;
    }
    if (since_better >= limits.patience || expander.stop()) break;
  }
  return expander.result(first, best, StopReason::kExhausted);
}

Result<Searched> best_first_search(Program program, Expander& expander) {
  TRY(const StatePtr first, expander.first(std::move(program)));
  const SearchLimits& limits = expander.limits();
  StatePtr best = first;
  StopReason otherwise = StopReason::kExhausted;
  const auto costs_more = [](const StatePtr& a, const StatePtr& b) { return a->cost > b->cost; };
  std::vector<StatePtr> open = {first};  // a heap
  while (!open.empty() && !expander.stop()) {
    std::pop_heap(open.begin(), open.end(), costs_more);
    const StatePtr state = std::move(open.back());
    open.pop_back();
    if (state->cost > limits.alpha * best->cost) continue;
    if (state->depth >= limits.steps) {
      otherwise = StopReason::kSteps;
      continue;
    }
    std::vector<Child> children = expander.children(state);
    look_at(children, expander);
    const auto most = static_cast<size_t>(limits.looked_at);
    const size_t kept = state == first ? measure_first(children, most, best->cost, expander)
                                       : measure(children, most, best->cost, expander);
    for (size_t k = 0; k < kept; ++k) {
      const StatePtr made = expander.state_of(std::move(children[k]));
      expander.statistics().deepest = std::max(expander.statistics().deepest, made->depth);
      if (made->cost < best->cost && expander.is_welcome(*made)) best = made;
      open.push_back(made);
      std::push_heap(open.begin(), open.end(), costs_more);
    }
  }
  return expander.result(first, best, otherwise);
}

}  // namespace isomer::search
