// Where patterns stand in an e-graph, by backtracking (de Moura, Bjørner 2007, "Efficient E-matching for SMT solvers",
// without its compiled code): laws and rules are found so. Tests: tests/verify/egraph_test.cpp,
// tests/substitutions/consequence_test.cpp
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/prover/egraph.h"
#include "verify/prover/pattern.h"

namespace isomer::verify {

/// What names stand for where all patterns were found. Integers that patterns say by more than a name are left to the
/// equations.
struct EMatch {
  const SlotValues& values;
  const IntegerEquations& equations;
  std::span<const int> roots;  ///< nodes, by pattern that was sought anywhere
};

/// The e-graph must not grow while it matches.
class EMatcher {
 public:
  using Goal = std::pair<const Pattern*, int>;
  /// Whether to go on.
  using Visit = std::function<bool(const EMatch&)>;

  EMatcher(const EGraph& graph, Extractions& extractions, Signatures& signatures)
      : graph_(graph), extractions_(extractions), signatures_(signatures) {}

  /// Only matches with a root of which the pattern reaches down to something new: to a node of that age or less, by
  /// node.
  void look_for_new(const std::vector<int>& age) { age_ = &age; }

  /// Every match with each goal's pattern in the class of its node, and the patterns that are sought anywhere. In an
  /// order that is always the same.
  void match(const Slots& slots, std::vector<Goal> goals, std::span<const Pattern* const> sought, const Visit& visit);

 private:
  void meet(size_t at);
  void meet_node(const Pattern& pattern, int node, size_t next);
  void seek_next();

  const EGraph& graph_;
  Extractions& extractions_;
  Signatures& signatures_;
  const std::vector<int>* age_ = nullptr;
  std::span<const Pattern* const> sought_;
  const Visit* visit_ = nullptr;
  bool goes_on_ = true;
  int new_roots_ = 0;
  std::vector<Goal> goals_;
  std::vector<int> roots_;
  SlotValues values_;
  IntegerEquations equations_;
};

/// An instance by the classes of its tensors, for sets of those that are known.
std::string key_of(int law, const SlotValues& values, const EGraph& graph);

}  // namespace isomer::verify
