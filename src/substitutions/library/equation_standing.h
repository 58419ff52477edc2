// Where an equation that somebody states stands with a library: one of its rules, or follows from them, or is proved
// from laws only, or refuted. The laws are rules of every search too: what needs them is told apart from what rules
// alone say. Test: tests/substitutions/consequence_test.cpp
#pragma once

#include "substitutions/library/consequence.h"
#include "substitutions/library/equations.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions {

struct Standing {
  enum class Verdict {
    kRule,             ///< an instance of one rule
    kFollows,          ///< from rules alone
    kLaw,              ///< an instance of one law
    kFollowsWithLaws,  ///< from rules and laws, or laws, each used as a rule
    kProved,           ///< by the prover alone: from laws, or by elements
    kRefuted,
    kUnknown,
  };
  static constexpr int kVerdicts = 7;

  Verdict verdict = Verdict::kUnknown;
  std::vector<std::string> rules, laws;  ///< by name: what it follows from
  bool by_elements = false;              ///< or from the elements of both sides
  std::optional<verify::Counterexample> counterexample;
  verify::Saturated from_rules = verify::Saturated::kClosed,
                    from_laws = verify::Saturated::kClosed;  ///< why they say nothing

  /// A search with the library's rules and the laws has it, in one step or in several.
  bool is_of_library() const { return verdict <= Verdict::kFollowsWithLaws; }
  /// "from MatMul.1-…, law Conv.3", the counterexample, why nothing is known.
  std::string why() const;
};

std::string_view name(Standing::Verdict verdict);

/// Of an equation with types. The same for the same seed. Errors: as of judge.
Result<Standing> standing_of(const StatedEquation& equation, Consequences& library, verify::Prover& prover,
                             uint64_t seed, const verify::SaturationLimits& limits = kConsequenceLimits);

}  // namespace isomer::substitutions
