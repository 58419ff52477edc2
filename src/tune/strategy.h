// What a tuner tries next of one task: ways to search, behind one interface. They know times alone; who measures is
// elsewhere. Same seed and same times, same candidates. Test: tests/tune/strategy_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tune/candidates.h"

namespace isomer::tune {

/// How good candidates are thought to be before they are measured: larger is faster. Nothing where nobody knows yet.
using Score = std::function<std::optional<std::vector<double>>(const std::vector<Candidate>& candidates)>;

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// So many that were not given before, none twice; fewer where it finds no more, or is over.
  virtual std::vector<Candidate> next(int count) = 0;
  /// What became of one: microseconds, infinite where it failed. Also of candidates that others made; the last word
  /// counts.
  virtual void tell(const Candidate& candidate, double microseconds) = 0;
  /// Are not given, nor what comes to the same as those that are met: measured before, and too many to be made again.
  virtual void leave_out(std::set<Decisions> decisions) = 0;

  /// Whoever draws asks it between candidates; several threads do.
  void end_where(std::function<bool()> is_over) { is_over_ = std::move(is_over); }

 protected:
  bool is_over() const { return is_over_ && is_over_(); }

 private:
  std::function<bool()> is_over_;
};

/// Of the best that were measured, changed and crossed, those that score best, and some at random (Ansor: Zheng et al.
/// 2020, section 5.1). Where that finds nothing faster for a while: the best one with one decision changed (coordinate
/// descent). `candidates` and the score outlive it.
std::unique_ptr<Strategy> evolution(const Candidates& candidates, uint64_t seed, Score score = {});
/// Anything.
std::unique_ptr<Strategy> random_search(const Candidates& candidates, uint64_t seed);
/// Simulated annealing: from where it stands to a change of it, ever more seldom to a slower one (AutoTVM: Chen et al.
/// 2018).
std::unique_ptr<Strategy> annealing(const Candidates& candidates, uint64_t seed);
/// All of them, from the preferred one on: one decision changed, then two, and so on.
std::unique_ptr<Strategy> exhaustive(const Candidates& candidates);

/// "evolution", "random", "annealing", "exhaustive"; none of another name.
std::unique_ptr<Strategy> strategy_of(std::string_view name, const Candidates& candidates, uint64_t seed,
                                      Score score = {});

}  // namespace isomer::tune
