// A program and all that rules make of it, side by side: an e-graph (verify/prover/egraph.h) whose nodes are values of
// one program that only grows. Test: tests/search/saturation_test.cpp
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "substitutions/rewrite/apply.h"
#include "verify/prover/egraph.h"

namespace isomer::substitutions {

struct GrowthLimits {
  int rounds = 12;
  int applications = 1200;  ///< of the program with all that was added; each round may add its share
};

/// Who grows a program says what it may use, what is worth most, and when to end.
struct GrowthPolicy {
  std::function<bool(const Program& program, const Match& match)> is_allowed;
  std::function<double(const Program& program, int application)> cost;
  std::function<bool()> is_late;
};

enum class Grown {
  kClosed,  ///< no rule says anything new
  kRounds,
  kApplications,
  kStopped,
};

class SaturatedProgram {
 public:
  /// A match that was used, of `program()`.
  struct Use {
    Match match;
    Added added;
  };

  /// Of a program without opaque applications. The rules outlive it.
  SaturatedProgram(const Program& program, Substitutions& rules);
  SaturatedProgram(const SaturatedProgram&) = delete;
  SaturatedProgram& operator=(const SaturatedProgram&) = delete;

  /// Uses matches that are allowed, round by round: first those that add least to what the program cost at first, all
  /// uses on the way to them included. Deterministic, but for when it is late.
  Grown grow(const GrowthLimits& limits, const GrowthPolicy& policy);

  /// Values and applications of the program that it was made of are first in it, with their numbers. Its arguments are
  /// leaders of their classes, so it may have cycles.
  const Program& program() const { return program_; }
  const std::vector<Use>& uses() const { return uses_; }
  /// Uses on the way to the application, at least: none to those of the program that it was made of.
  int generation(int application) const { return ranks_[static_cast<size_t>(application)].generation; }
  /// Values that sources of the use are rooted at.
  std::vector<int> roots(const Use& use) const;
  /// One value of each class.
  int leader(int value) const { return value_of(graph_.leader(node_of(value))); }
  /// Values that are known to equal it: leaves, and outputs of applications no two of which are the same on leaders.
  std::vector<int> equal_to(int value) const;
  /// That of these which is the same on leaders.
  int same(int value) const;
  /// What the application read when it was made: values that equal its arguments.
  const std::vector<int>& first_arguments(int application) const {
    return first_arguments_[static_cast<size_t>(application)];
  }
  /// By application of a program that comes from the same one: that of ours that is the same modulo classes; -1: there
  /// is none.
  std::vector<int> find(const Program& other) const;
  /// Numbers of the uses from which the equations follow, sorted; all of them hold.
  std::vector<int> explain(const std::vector<std::pair<int, int>>& equations) const;

 private:
  /// Of matches: the least are used first.
  struct Rank {
    double rise = 0;     ///< what the program would cost more than at first, at most, on the way to the match and by it
    int gain = 0;        ///< what the match saves, as powers of two
    int generation = 0;  ///< uses on the way to it, at least
    auto operator<=>(const Rank&) const = default;
  };
  int node_of(int value) const { return nodes_[static_cast<size_t>(value)]; }
  int value_of(int node) const { return values_[static_cast<size_t>(node)]; }
  void add_values();
  void read_leaders();
  EqualValues classes() const;
  /// Equal for matches of equal names; of tensors what `tensor` says of them.
  static std::vector<int64_t> key(const Match& match, const std::function<int64_t(int value)>& tensor);
  std::vector<int64_t> key(const Match& match) const;
  /// Of several roots: the same roots in another order are the same again.
  std::vector<int> joined(const Match& match) const;
  std::optional<std::vector<Match>> find_matches(const GrowthPolicy& policy) const;
  Rank rank(const Match& match, const GrowthPolicy& policy);
  bool use(const Match& match);
  /// The value that the pattern of an application stands for.
  int root_of(const verify::Pattern& pattern, const Match& match) const;
  std::vector<std::pair<int, int>> premises(const Match& match) const;
  void add_premises(const verify::Pattern& pattern, const Match& match,
                    std::vector<std::pair<int, int>>& premises) const;

  Program program_;
  Substitutions& rules_;
  verify::VariableTypes leaf_types_;
  verify::EGraph graph_;
  std::vector<int> nodes_;                         ///< by value: its node, or one that is the same on leaders
  std::vector<int> values_;                        ///< by node: the value that it was made for
  std::vector<std::vector<int>> first_arguments_;  ///< by application
  std::vector<Rank> ranks_;                        ///< by application: of the use that built it
  std::map<int, int> leaves_;                      ///< values, by leaf of the origin
  std::set<std::vector<int64_t>> used_;
  std::set<std::vector<int>> joined_;
  std::unordered_map<std::vector<int64_t>, double, ListHash>
      differences_;  ///< what targets cost more than sources, by types
  std::vector<Use> uses_;
};

}  // namespace isomer::substitutions
