// Where rules' instances are in an e-graph: structure first, the guard last (match.h does the same in programs). Test:
// tests/substitutions/consequence_test.cpp
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "substitutions/rewrite/rule_patterns.h"
#include "verify/prover/ematch.h"

namespace isomer::substitutions {

/// What it found once it does not find again.
class RuleMatching {
 public:
  using Goals = std::vector<verify::EMatcher::Goal>;

  RuleMatching(const verify::EGraph& graph, PreparedRules& rules)
      : graph_(graph), rules_(rules), matcher_(graph, rules.extractions(), rules.theory().signatures()) {}

  /// Instances with each pattern in the class of its node.
  std::vector<verify::SlotValues> meet(const RulePatterns& rule, Goals goals);
  /// Instances with what is sought anywhere.
  std::vector<verify::SlotValues> find(const RulePatterns& rule, const RulePatterns::Sought& sought);

 private:
  std::vector<verify::SlotValues> instances(const RulePatterns& rule, Goals goals,
                                            std::span<const verify::Pattern* const> sought);
  bool complete(const RulePatterns& rule, const verify::IntegerEquations& equations, verify::SlotValues& values);

  const verify::EGraph& graph_;
  PreparedRules& rules_;
  verify::EMatcher matcher_;
  std::unordered_set<std::string> known_;
};

}  // namespace isomer::substitutions
