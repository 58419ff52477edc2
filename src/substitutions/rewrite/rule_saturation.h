// Equality saturation with rules (verify/prover/saturate.h does it with laws). Rounds first use the instances that add
// least to the graph. Test: tests/substitutions/consequence_test.cpp
#pragma once

#include "substitutions/rewrite/rule_matching.h"
#include "verify/prover/planned_term.h"
#include "verify/prover/prove.h"
#include "verify/prover/saturate.h"

namespace isomer::substitutions {

using NodePairs = std::vector<std::pair<int, int>>;

/// Grows the e-graph; a reason's number is an index into `instances()`.
class RuleSaturation {
 public:
  struct Instance {
    const RulePatterns* rule = nullptr;
    verify::SlotValues values;
  };

  RuleSaturation(verify::EGraph& graph, PreparedRules& rules) : graph_(graph), rules_(rules), matching_(graph, rules) {}

  /// Uses those of the rules whose flag is set, until each pair of nodes is equal; of no pair: until they say nothing
  /// new.
  verify::Saturated run(const NodePairs& sought, const std::vector<bool>& is_used,
                        const verify::SaturationLimits& limits);
  const std::vector<Instance>& instances() const { return instances_; }
  /// The instance's equations, spelled out.
  Result<std::vector<std::pair<verify::Term, verify::Term>>> equations(int instance,
                                                                       const verify::VariableTypes& types) const;

 private:
  struct Found {
    const RulePatterns* rule = nullptr;
    const RulePatterns::Sought* sought = nullptr;
    verify::SlotValues values;
    int new_nodes = 0, number = 0;
  };

  std::optional<std::vector<std::pair<verify::PlannedTerm, verify::PlannedTerm>>> planned(
      const RulePatterns& rule, const verify::SlotValues& values);
  bool is_there(const Found& found);
  std::vector<Found> find_all(const std::vector<bool>& is_used);
  bool use(Found& found);

  verify::EGraph& graph_;
  PreparedRules& rules_;
  RuleMatching matching_;
  std::vector<Instance> instances_;
};

}  // namespace isomer::substitutions
