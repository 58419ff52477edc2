// Rules made of equations that users state, where these can be proved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "substitutions/library/equations.h"
#include "util/result.h"

namespace isomer {

struct AddedRule {
  std::string name;  ///< empty: the file has the rule already
  std::string text;
};

struct AddedRules {
  std::vector<AddedRule> rules;               ///< one for each equation, in order; up to the first that is refuted
  std::optional<std::string> counterexample;  ///< of the equation after them: nothing was written
};

/// Proves each equation, at types that are drawn where it has none, and adds the rules to STEM.rules and STEM.proofs,
/// which may be there. Errors, which name the line and the `file` of the equations where that is not empty: one that is
/// neither proved nor refuted, a name that another rule has.
Result<AddedRules> add_rules(const std::vector<substitutions::StatedEquation>& equations, const std::string& file,
                             const std::filesystem::path& stem, uint64_t seed);

}  // namespace isomer
