// Where rules' instances are in an e-graph: structure first, the guard last (match.h does the same in programs). Test:
// tests/substitutions/consequence_test.cpp
#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "substitutions/rewrite/rule_patterns.h"

namespace isomer::substitutions {

/// What it found once it does not find again.
class RuleMatching {
 public:
  using Goals = std::vector<std::pair<const verify::Pattern*, int>>;

  RuleMatching(const verify::EGraph& graph, PreparedRules& rules) : graph_(graph), rules_(rules) {}

  /// Instances with each pattern in the class of its node.
  std::vector<verify::SlotValues> meet(const RulePatterns& rule, Goals goals);
  /// Instances with what is sought anywhere.
  std::vector<verify::SlotValues> find(const RulePatterns& rule, const RulePatterns::Sought& sought);

 private:
  void start(const RulePatterns& rule);
  void meet(size_t at);
  void meet_node(const verify::Pattern& pattern, int node, size_t next);
  void seek_next();
  void finish();
  bool complete();
  bool is_known();

  const verify::EGraph& graph_;
  PreparedRules& rules_;
  const RulePatterns* rule_ = nullptr;
  const RulePatterns::Sought* sought_ = nullptr;
  size_t sought_count_ = 0;
  Goals goals_;
  verify::SlotValues values_;
  verify::IntegerEquations equations_;
  std::vector<verify::SlotValues> found_;
  std::unordered_set<std::string> known_;
};

}  // namespace isomer::substitutions
