// Equality saturation with laws: their instances whose terms are there, all of them well typed and of the laws'
// families, until two nodes are equal or a limit is met (Willsey et al. 2021, "egg"). Test:
// tests/verify/egraph_test.cpp
#pragma once

#include <unordered_set>
#include <vector>

#include "verify/proof/certificate.h"
#include "verify/prover/egraph.h"
#include "verify/prover/ematch.h"
#include "verify/prover/law_set.h"

namespace isomer::verify {

struct SaturationLimits {
  int rounds = 8;
  int nodes = 2000;
};

enum class Saturated {
  kProved,  ///< the two nodes are equal
  kClosed,  ///< no law says anything new
  kRounds,
  kNodes,
};
std::string_view name(Saturated stop);

/// Grows the e-graph; a reason's number is an index into `instances()`.
class Saturation {
 public:
  struct Instance {
    int law = 0;
    SlotValues values;
  };

  Saturation(EGraph& graph, LawSet& laws);

  /// Stops when the nodes are equal. The same for the same graph and laws, whatever else the set was used for.
  Saturated run(int left, int right, const SaturationLimits& limits);

  const std::vector<Instance>& instances() const { return instances_; }
  int rounds() const { return rounds_; }
  /// A law's use as the proof checker reads it.
  LawUse use(int instance) const;

 private:
  struct Match {
    SlotValues values;
    IntegerEquations equations;
  };

  void date_nodes();
  std::vector<Match> matches(const PreparedLaw& law, const PreparedLaw::Direction& sought);
  bool solve(const PreparedLaw& law, Match& match) const;
  bool is_instance(const PreparedLaw& law, const SlotValues& values);
  void use_law(const PreparedLaw& law, const PreparedLaw::Direction& sought, Match match);

  EGraph& graph_;
  LawSet& laws_;
  EMatcher matcher_;
  std::vector<Instance> instances_;
  std::unordered_set<std::string> used_;
  int rounds_ = 0, seen_nodes_ = 0, deepest_ = 0;
  std::vector<int> age_;  ///< levels from a node down to the next class that is new in this round
};

}  // namespace isomer::verify
