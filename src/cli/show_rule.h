// A rule for people: what it says, where it holds and why; of a mutant, which program is right where.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::cli {

std::vector<std::string> rule_lines(const substitutions::Rule& rule, std::span<const verify::StatedAxiom> axioms);
nlohmann::json rule_json(const substitutions::Rule& rule, std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::cli
