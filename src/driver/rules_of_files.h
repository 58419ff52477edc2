// The rules that users name, or those that come with the program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "substitutions/library/rules_file.h"
#include "util/result.h"

namespace isomer {

/// Files are STEM.rules beside STEM.proofs. Errors: a file that can't be read, or is none of rules.
Result<std::vector<substitutions::RulesFile>> read_rules_files(const std::vector<std::string>& files,
                                                               std::span<const verify::StatedAxiom> axioms);
/// Their rules, one after the other.
Result<std::vector<substitutions::Rule>> rules_of_files(const std::vector<std::string>& files,
                                                        std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer
