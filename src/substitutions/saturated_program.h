// A program and all that rules make of it, side by side: an e-graph (verify/egraph.h) whose nodes are values of one program that only
// grows. Test: tests/substitutions/saturated_program_test.cpp
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "substitutions/match.h"
#include "verify/egraph.h"

namespace isomer::substitutions {

struct GrowthLimits {
  int rounds = 8;
  int applications = 1500;       ///< of the program with all that was added
  int uses_of_substitution = 60; ///< in one round: rules that apply everywhere leave room to others
};

enum class Grown {
  kClosed,  ///< no rule says anything new
  kRounds, kApplications, kStopped,
};

class SaturatedProgram {
 public:
  /// A match that was used, of `program()`.
  struct Use {
    Match match;
    std::vector<int> targets;  ///< values, by output of the rule
    std::vector<int> built;    ///< applications that were not there before
  };

  /// Of a program without opaque applications. The rules outlive it.
  SaturatedProgram(const Program& program, Substitutions& rules);
  SaturatedProgram(const SaturatedProgram&) = delete;
  SaturatedProgram& operator=(const SaturatedProgram&) = delete;

  /// Uses all matches that are allowed, round by round. Deterministic, but for when `is_late` says so.
  Grown grow(const GrowthLimits& limits, const std::function<bool(const Program& program, const Match& match)>& is_allowed, const std::function<bool()>& is_late);

  /// Values and applications of the program that it was made of are first in it, with their numbers. Its arguments are leaders of their
  /// classes, so it may have cycles.
  const Program& program() const { return program_; }
  const std::vector<Use>& uses() const { return uses_; }
  /// One value of each class.
  int leader(int value) const { return value_of(graph_.leader(node_of(value))); }
  /// Values that are known to equal it: leaves, and outputs of applications no two of which are the same on leaders.
  std::vector<int> equal_to(int value) const;
  /// What the application read when it was made: values that equal its arguments.
  const std::vector<int>& first_arguments(int application) const { return first_arguments_[static_cast<size_t>(application)]; }
  /// By application of a program that comes from the same one: that of ours that is the same modulo classes; -1: there is none.
  std::vector<int> find(const Program& other) const;
  /// Numbers of the uses from which the equations follow, sorted; all of them hold.
  std::vector<int> explain(const std::vector<std::pair<int, int>>& equations) const;

 private:
  int node_of(int value) const { return nodes_[static_cast<size_t>(value)]; }
  int value_of(int node) const { return values_[static_cast<size_t>(node)]; }
  void add_values();
  void read_leaders();
  EqualValues classes() const;
  bool is_new(const Match& match);
  bool use(const Match& match);
  /// The value that the pattern of an application stands for.
  int root_of(const verify::Pattern& pattern, const Match& match) const;
  std::vector<std::pair<int, int>> premises(const Match& match) const;
  void add_premises(const verify::Pattern& pattern, const Match& match, std::vector<std::pair<int, int>>& premises) const;

  Program program_;
  Substitutions& rules_;
  verify::VariableTypes leaf_types_;
  verify::EGraph graph_;
  std::vector<int> nodes_;   ///< by value: its node, or one that is the same on leaders
  std::vector<int> values_;  ///< by node: the value that it was made for
  std::vector<std::vector<int>> first_arguments_;  ///< by application
  std::map<int, int> leaves_;                      ///< values, by leaf of the origin
  std::set<std::vector<int64_t>> used_;
  std::vector<Use> uses_;
};

}  // namespace isomer::substitutions
