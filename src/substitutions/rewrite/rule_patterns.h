// Rules made ready for e-graphs: what is to be found that an instance of a rule is known, and whether it holds there.
// Test: tests/substitutions/consequence_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "substitutions/rewrite/theory.h"
#include "util/list_hash.h"
#include "verify/prover/egraph.h"
#include "verify/prover/pattern.h"

namespace isomer::substitutions {

struct RulePatterns : verify::Slots {
  struct Sides {
    verify::Pattern left, right;
  };
  /// Patterns that, all found, bind every name of the rule, some of them as its example does.
  using Sought = std::vector<const verify::Pattern*>;

  const Rule* rule = nullptr;
  int index = 0;
  std::vector<Sides> outputs;
  std::vector<Sought> directions;
  std::vector<std::optional<Dim>> example_integers;
  std::vector<std::optional<int>> example_rests;  ///< operations
};

/// For one thread. The rules and the theory must outlive it.
class PreparedRules {
 public:
  PreparedRules(std::span<const Rule* const> rules, Theory& theory);
  PreparedRules(const PreparedRules&) = delete;
  PreparedRules& operator=(const PreparedRules&) = delete;

  int size() const { return static_cast<int>(list_.size()); }
  const RulePatterns& operator[](int k) const { return *list_[static_cast<size_t>(k)]; }
  Theory& theory() const { return theory_; }

  /// How patterns' applications read operations that are spelled out.
  verify::Extractions& extractions() { return extractions_; }
  /// Its proof replayed for the types of these nodes, and remembered.
  bool holds(const RulePatterns& rule, const verify::SlotValues& values, const verify::EGraph& graph);

 private:
  bool replay(const RulePatterns& rule, const verify::SlotValues& values, const verify::EGraph& graph);

  Theory& theory_;
  std::vector<std::unique_ptr<RulePatterns>> list_;
  verify::Extractions extractions_{verify::Extractions::Reading::kAsSpelled};
  std::unordered_map<std::vector<int64_t>, bool, ListHash> held_;
};

}  // namespace isomer::substitutions
