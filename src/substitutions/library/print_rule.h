// Rules and uses of laws as text, a line each: what substitutions/proof/read/rule_text.h reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// Integers and rests: "{a=1,b=2}", "..p={axis=1}".
std::vector<std::string> binding_parts(const verify::Bindings& bindings);
/// Without its proof: name TAB class TAB outputs TAB example.
std::string print_rule(const Rule& rule);
/// What its names stand for, between " ; ".
std::string print_use(const verify::LawUse& use, std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
