// Which equations a library of rules has: those that are instances of one of its rules, and those that follow from
// several, each used where its proof holds, as a search uses them. The laws are rules too, which a search may be given
// beside them; they are asked after the rules. Test: tests/substitutions/consequence_test.cpp
#pragma once

#include <set>
#include <span>
#include <vector>

#include "substitutions/rewrite/rule_patterns.h"
#include "verify/prover/prove.h"
#include "verify/prover/saturate.h"

namespace isomer::substitutions {

struct Consequence {
  enum class How {
    kInstance,  ///< of one rule or law, whatever the order of operands that commute
    kFollows,   ///< from all of `rules` and `laws`, and from none fewer of them
    kNot,       ///< nor from the laws, within the limits
  };
  How how = How::kNot;
  std::vector<const Rule*> rules, laws;
  verify::Saturated stop = verify::Saturated::kClosed;  ///< why it was not found
};

/// Of the e-graph that rules grow, laws beside them or not.
inline constexpr verify::SaturationLimits kConsequenceLimits{5, 300};

/// For one thread. The rules and the theory must outlive it.
class Consequences {
 public:
  Consequences(std::span<const Rule* const> rules, std::span<const Rule* const> laws, Theory& theory);

  /// Of equations between terms over variables of these types, all of them together. The same whatever was asked
  /// before. Errors: a side is not well typed.
  Result<Consequence> of(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                         const verify::SaturationLimits& limits = kConsequenceLimits);

 private:
  class Question;

  struct Answer {
    verify::Saturated stop = verify::Saturated::kClosed;
    std::set<int> rules;
  };

  Consequence consequence(Consequence::How how, const std::set<int>& used) const;

  PreparedRules prepared_;
  std::vector<bool> is_rule_, is_law_, is_any_, only_commutes_;
};

}  // namespace isomer::substitutions
