// Searching what a program can be rewritten to: states, and what all strategies share. A state is a program, the
// matches that led to it and what they saved. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "search/strategies/cost_changes.h"
#include "substitutions/rewrite/apply.h"

namespace isomer::search {

/// The later ones are the stronger ones: of several searches the strongest is told.
enum class StopReason : uint8_t {
  kExhausted,     ///< nothing is left to try that may cost as much as it must
  kSteps,         ///< the most steps
  kRounds,        ///< the most rounds of saturation
  kApplications,  ///< the most applications side by side
  kStates,        ///< the most states
  kMeasurements,  ///< the most windows that had to be measured
  kTime,
  kInterrupted,  ///< somebody asked for it
};
std::string_view name(StopReason reason);

struct SearchLimits {
  int width = 6;        ///< states that a beam keeps of each step
  double alpha = 1.05;  ///< those that cost up to so many times the best are worth going on from (TASO, section 5)
  double alpha_of_other_sums = 1.5;  ///< the same where a sum became another one (CostChanges::Effect)
  int steps = 24;                    ///< on the way to a state
  int added = 3;           ///< applications that a rewrite may add, those of constants aside (a convolution becomes a
                           ///< fold, two transforms and a product): what does the same by more is what it came from
  int growth = 8;          ///< applications that a state may have more than the first one, or than one that rewrites
                           ///< together led to, those of constants aside
  int patience = 5;        ///< steps without a better state
  int looked_at = 48;      ///< rewrites of a step that are costed, the most promising ones by their estimates
  int states = 4000;       ///< that are costed, in all
  int measurements = 400;  ///< windows that are measured, in all
  int singles = 4;  ///< rewrites of the first state that are measured, whatever they promise: what there was to find
  int rounds = 12;  ///< of saturation
  int applications = 1200;   ///< of all rewrites side by side, in saturation
  int alternatives = 0;      ///< states beside the best that are told
  double alternative = 1.5;  ///< that cost up to so many times the best
  double seconds = 60;
};

struct SearchStatistics {
  int64_t matches = 0, applied = 0, refused = 0, seen = 0, costed = 0, measured = 0, expanded = 0;
  int deepest = 0;
};

/// One rewrite of the first state alone.
struct Single {
  substitutions::Match match;
  double saved = 0;  ///< microseconds, measured
};

/// A state beside the best: it may be faster once its kernels are tuned.
struct SearchedAlternative {
  std::vector<substitutions::Match> steps;
  double saved = 0;  ///< microseconds, of the first state's cost; below 0 where it costs more
};

/// What a strategy found.
struct Searched {
  std::vector<substitutions::Match> steps;        ///< to the best state
  double cost = 0, saved = 0;                     ///< microseconds: of the first state, and less of the best
  std::vector<Single> singles;                    ///< the best of them
  std::vector<SearchedAlternative> alternatives;  ///< the best of them, no two by the same substitutions
  StopReason stop = StopReason::kExhausted;
  SearchStatistics statistics;
};

struct State {
  substitutions::Program program;
  double cost = 0;  ///< microseconds, with the price of the steps
  std::shared_ptr<const State> parent;
  substitutions::Match step;                  ///< from the parent; of no meaning in the first
  std::vector<int> changed;                   ///< by it
  std::vector<substitutions::Match> matches;  ///< filled by Expander::expand
  int depth = 0;
};
using StatePtr = std::shared_ptr<State>;

/// A state that one more rewrite leads to.
struct Child {
  StatePtr parent;
  substitutions::Match match;
  substitutions::Rewritten rewritten;
  CostChanges::Effect effect = CostChanges::Effect::kMaySave;
  double estimate = 0;  ///< of its cost, before a window was looked at
  Cost cost;            ///< of all of it
};

/// Which rewrites are looked at: those that only add work save nothing by themselves, but what they make may be needed.
enum class Moves : uint8_t { kAll, kThatMaySave };

class Expander {
 public:
  /// All of them outlive it. `allowed`: whether a substitution may be used; `welcome`: whether a program may be the
  /// end; `has_paid`: whether a substitution saved time elsewhere, so that it is tried first.
  Expander(substitutions::Substitutions& rules, CostChanges& changes, const SearchLimits& limits,
           std::function<bool(int substitution)> allowed = {},
           std::function<bool(const substitutions::Program&)> welcome = {},
           std::function<bool(int substitution)> has_paid = {});

  Result<StatePtr> first(substitutions::Program program);
  /// All that one rewrite leads to and that was not seen before; costs are estimates.
  std::vector<Child> children(const StatePtr& state, Moves moves = Moves::kThatMaySave);
  /// With a cost; false where it can't be had, or a limit was reached (`stop`).
  bool cost(Child& child, Effort effort);
  /// The same for one that is to be taken: of it the proof holds, too.
  bool measure(Child& child);
  StatePtr state_of(Child child);
  /// What the children that save time lead to one after the other, those of one parent: as far as each is still there
  /// and saves time beside the others. First those that were measured, then others of the same substitutions. nullptr
  /// where that is not more than one of them.
  StatePtr together(std::span<const Child> children);
  /// The same of other sums, of one substitution wherever it stands, that of the first among the `kept` children:
  /// others go on from all of them.
  StatePtr other_sums(std::span<const Child> children, size_t kept);
  /// The cost of all of it, not by what changed alone; false as above.
  bool cost(State& state, Effort effort);
  /// States that were seen may be seen again.
  void forget() { seen_.clear(); }
  /// Measures the most promising of the first state's children, the first ones of these.
  void keep_singles(std::vector<Child>& children);
  /// Of the first state's children, the cheapest first: what is dearer than a strategy goes on from may be an
  /// alternative, by itself and with all others of its substitution.
  void keep_alternatives(std::span<const Child> children);

  /// Whether a match may be used: its rule is allowed, and something else than constants would be rewritten.
  bool allows(const substitutions::Program& program, const substitutions::Match& match) const;
  /// Whether the state may be what a search ends with.
  bool is_welcome(const State& state) const { return !welcome_ || welcome_(state.program); }
  bool has_paid(const Child& child) const { return has_paid_ && has_paid_(child.match.substitution); }
  bool is_late();
  substitutions::Substitutions& rules() { return rules_; }

  /// A limit that was reached.
  const std::optional<StopReason>& stop() const { return stop_; }
  SearchStatistics& statistics() { return statistics_; }
  const SearchLimits& limits() const { return limits_; }
  Searched result(const StatePtr& first, const StatePtr& best, StopReason otherwise) const;

 private:
  void find_matches(State& state);
  bool is_proved(const Child& child) { return rules_.is_proved(child.parent->program, child.match); }
  /// As an alternative, as far as it is one of the best.
  void keep(const StatePtr& state);
  /// nullptr where that is not more than the first.
  StatePtr one_after_the_other(std::span<const Child* const> children, bool must_save);
  /// Nothing where the rewrite can't be done, or leads to what was seen.
  std::optional<substitutions::Rewritten> rewritten(const substitutions::Program& program,
                                                    const substitutions::Match& match, int most);
  /// False where a limit was reached.
  bool count(Effort effort);

  substitutions::Substitutions& rules_;
  CostChanges& changes_;
  SearchLimits limits_;
  std::function<bool(int)> allowed_;
  std::function<bool(const substitutions::Program&)> welcome_;
  std::function<bool(int)> has_paid_;
  std::set<Hash128> seen_;
  std::vector<Single> singles_;
  std::map<std::vector<int>, StatePtr> kept_;  ///< the cheapest by substitutions, each as often as it was used
  double price_ = 0;                           ///< of a step
  int most_ = 0;                               ///< applications of a state
  std::optional<StopReason> stop_;
  SearchStatistics statistics_;
  std::chrono::steady_clock::time_point end_;
};

/// The most promising of the rewrites, the cheapest first, with costs that records and estimates give.
void look_at(std::vector<Child>& children, Expander& expander);

/// The best of each step, and all within alpha of the best of all, as many as the beam is wide.
Result<Searched> beam_search(substitutions::Program program, Expander& expander);
/// The cheapest state first, wherever it is (TASO, section 5).
Result<Searched> best_first_search(substitutions::Program program, Expander& expander);

}  // namespace isomer::search
