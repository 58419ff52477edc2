// Isomer's C++ interface to rules of users: equations that Isomer proves and the search then uses
// (OptimizeOptions::rules). C++20 and its library alone.
#ifndef ISOMER_RULE_H
#define ISOMER_RULE_H

#include <cstdint>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/work.h"

namespace isomer {

struct RulesOfEquationsOptions {
  uint64_t seed = 0;           ///< of types that are drawn, and of numbers that equations are tried on
  const Stop* stop = nullptr;  ///< outlives the call
};

/// The rule that an equation became: its left side may be replaced by its right side, and the other way round.
struct RuleOfEquation {
  std::string name;       ///< empty: there was such a rule
  std::string statement;  ///< LEFT ; … = RIGHT ; …
};

/// Lines of [NAME |] [TYPES |] LEFT ; … = RIGHT ; … as in check_equations of library.h, each proved and added to the
/// file of rules STEM.rules with its proof in STEM.proofs; both may be there. Z3's program (`z3`) must be there.
/// Failures, of which nothing is written: a line that is no equation; one that numbers refute, of kind `mismatch` and
/// with the numbers; one that is neither proved nor refuted; a name that another rule has.
Expected<std::vector<RuleOfEquation>> rules_of_equations(const std::string& equations, const std::string& rules,
                                                         const RulesOfEquationsOptions& options = {});

}  // namespace isomer

#endif
