#include "search/strategies/saturation.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>

#include "search/strategies/extraction.h"
#include "substitutions/rewrite/saturated_program.h"
#include "util/clock.h"
#include "util/stable_sort.h"

namespace isomer::search {
namespace {

using substitutions::Grown;
using substitutions::Match;
using substitutions::Program;
using substitutions::SaturatedProgram;

StopReason stop_of(Grown grown) {
  switch (grown) {
    case Grown::kClosed: return StopReason::kExhausted;
    case Grown::kRounds: return StopReason::kRounds;
    case Grown::kApplications: return StopReason::kApplications;
    case Grown::kStopped: return StopReason::kTime;
  }
  return StopReason::kExhausted;
}

/// The way from a program to what was extracted. An e-graph forgets nothing, a program has one form of each value at a
/// time: so which rewrites are taken, and in which order, is searched again, among those that the explanation of the
/// extraction is made of.
class Replay {
 public:
  Replay(const SaturatedProgram& all, const Program& program, const Extraction& extraction)
      : all_(all), ranks_(static_cast<size_t>(all.program().application_count()), -1) {
    for (const int id : all.find(program))
      if (id >= 0) ranks_[static_cast<size_t>(id)] = 0;
    for (const int number : all.explain(equations(program, extraction))) allow(all.uses()[static_cast<size_t>(number)]);
    ++last_;
    for (const int id : extraction.applications) ranks_[static_cast<size_t>(id)] = last_;
  }

  /// The state that computes what was extracted, or one that is next to it.
  StatePtr run(const StatePtr& first, Expander& expander) const {
    expander.forget();
    struct Open {
      int left = 0, number = 0;
      StatePtr state;
      /// What is nearest first, of those the latest.
      bool operator<(const Open& other) const {
        return std::pair(-left, number) < std::pair(-other.left, other.number);
      }
    };
    std::priority_queue<Open> open;
    open.push({left(first->program).value_or(0), 0, first});
    Open best = open.top();
    int number = 0;
    for (int expanded = 0;
         !open.empty() && best.left > 0 && expanded < kMostExpanded * expander.limits().steps && !expander.is_late();
         ++expanded) {
      const StatePtr state = open.top().state;
      open.pop();
      if (state->depth >= expander.limits().steps) continue;
      for (Child& child : expander.children(state, Moves::kAll)) {
        const std::optional<int> there = left(child.rewritten.program);
        if (!there) continue;
        const Open made{*there, ++number, expander.state_of(std::move(child))};
        if (made.left < best.left) best = made;
        open.push(made);
      }
    }
    return best.state;
  }

 private:
  static constexpr int kMostExpanded = 3;  ///< states for each step that there may be

  /// What stands where the program, or a rewrite, put it equals what is chosen there.
  std::vector<std::pair<int, int>> equations(const Program& program, const Extraction& extraction) const {
    std::vector<std::pair<int, int>> result;
    const auto demand = [&](int value) {
      result.emplace_back(value, extraction.chosen[static_cast<size_t>(all_.leader(value))]);
    };
    for (const int output : program.outputs()) demand(output);
    for (const int id : extraction.applications)
      for (const int argument : all_.first_arguments(id)) demand(argument);
    return result;
  }

  /// Sources and targets of a rewrite may stand in the programs on the way; later ones are nearer to its end.
  void allow(const SaturatedProgram::Use& use) {
    ++last_;
    std::vector<int> applications = use.match.applications;
    applications.insert(applications.end(), use.added.built.begin(), use.added.built.end());
    for (const int id : applications) {
      const int value = all_.same(all_.program().application(id).first_value);
      int& rank = ranks_[static_cast<size_t>(all_.program().value(value).producer)];
      if (rank < 0) rank = last_;
    }
  }

  /// How far the program is from what was extracted: nothing where something stands in it that is not on the way.
  std::optional<int> left(const Program& program) const {
    const std::vector<int> applications = all_.find(program);
    int result = 0;
    for (int id = 0; id < program.application_count(); ++id) {
      if (!program.contains(id)) continue;
      const int there = applications[static_cast<size_t>(id)];
      if (there < 0 || ranks_[static_cast<size_t>(there)] < 0) return std::nullopt;
      result += last_ - ranks_[static_cast<size_t>(there)];
    }
    return result;
  }

  const SaturatedProgram& all_;
  std::vector<int>
      ranks_;     ///< by application, from those of the program up to those of the extraction; -1: not on the way
  int last_ = 0;  ///< that of the extraction
};

/// The best of what was extracted, measured.
class Climb {
 public:
  Climb(const SaturatedProgram& all, StatePtr first, Expander& expander)
      : all_(all), first_(std::move(first)), expander_(expander), best_(first_) {}

  /// Measures those that cost least by what is known; whether one of them is the best so far.
  bool try_all(std::vector<Extraction> extractions) {
    std::vector<std::pair<StatePtr, Extraction>> ends;
    for (Extraction& extraction : extractions) {
      if (!tried_.insert(extraction.applications).second) continue;
      StatePtr state = Replay(all_, first_->program, extraction).run(first_, expander_);
      if (state != first_ && expander_.cost(*state, Effort::kLookUp))
        ends.emplace_back(std::move(state), std::move(extraction));
    }
    stable_sort(ends, [](const auto& a, const auto& b) { return a.first->cost < b.first->cost; });
    if (ends.size() > static_cast<size_t>(expander_.limits().width))
      ends.erase(ends.begin() + expander_.limits().width, ends.end());
    bool is_better = false;
    for (auto& [state, extraction] : ends) {
      if (!expander_.cost(*state, Effort::kMeasure) || state->cost >= best_->cost || !expander_.is_welcome(*state))
        continue;
      expander_.statistics().deepest = std::max(expander_.statistics().deepest, state->depth);
      best_ = state;
      chosen_ = std::move(extraction.chosen);
      is_better = true;
    }
    return is_better;
  }

  const StatePtr& best() const { return best_; }
  /// By the best extraction; nothing: none is better than the program itself.
  const std::vector<int>* chosen() const { return chosen_ ? &*chosen_ : nullptr; }

 private:
  const SaturatedProgram& all_;
  const StatePtr first_;
  Expander& expander_;
  StatePtr best_;
  std::optional<std::vector<int>> chosen_;
  std::set<std::vector<int>> tried_;  ///< applications
};

}  // namespace

Result<Searched> saturation_search(Program program, Expander& expander) {
  TRY(const StatePtr first, expander.first(program));
  std::vector<Child> singles = expander.children(first, Moves::kAll);
  look_at(singles, expander);
  expander.keep_singles(singles);
  const auto is_late = [&] { return expander.is_late(); };
  const SearchLimits& limits = expander.limits();
  const auto begin = Clock::now();
  // What grows for too long leaves no time to look at what is in it.
  const auto has_grown_enough = [&] { return expander.is_late() || seconds_since(begin) > limits.seconds / 2; };
  SaturatedProgram all(program, expander.rules());
  Estimates estimates;
  const substitutions::GrowthPolicy policy{
      [&](const Program& there, const Match& match) { return expander.allows(there, match); },
      [&](const Program& there, int application) { return estimates.application(there, application); },
      has_grown_enough};
  const Grown grown = all.grow({.rounds = limits.rounds, .applications = limits.applications}, policy);
  Climb climb(all, first, expander);
  climb.try_all(extractions(all, program, {}, is_late));
  // Estimates don't know what is fused: from the best that was measured on, changes are tried whatever they are
  // estimated to cost.
  for (bool is_better = true; is_better && !is_late();)
    is_better = climb.try_all(extractions_near(all, program, climb.chosen(), {}, is_late));
  return expander.result(first, climb.best(), stop_of(grown));
}

}  // namespace isomer::search
