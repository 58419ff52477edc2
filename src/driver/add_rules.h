// Rules made of equations that users state, where these can be proved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
  struct Refuted {
    size_t equation = 0;  ///< its number
    std::string counterexample;
  };
  std::vector<AddedRule> rules;    ///< one for each equation, in order; none where one is refuted
  std::optional<Refuted> refuted;  ///< the first: nothing was written
};

/// Proves each equation, at types that are drawn where it has none, and adds the rules to STEM.rules and STEM.proofs,
/// which may be there. Errors, which name the line and the `file` of the equations where that is not empty: one that is
/// neither proved nor refuted, a name that another rule has. `tell` is called before the files get their names, which
/// an error of it keeps from them; not where nothing is written.
Result<AddedRules> add_rules(const std::vector<substitutions::StatedEquation>& equations, const std::string& file,
                             const std::filesystem::path& stem, uint64_t seed,
                             const std::function<Result<void>(const AddedRules&)>& tell = {});

}  // namespace isomer
