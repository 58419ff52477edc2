// The rules that this version brings with it: rules/*.rules and their proofs, inside the program.
#pragma once

#include <span>
#include <vector>

#include "substitutions/library/rules_file.h"

namespace isomer::substitutions {

/// By name of the set that they were generated from. CHECKs that they can be read: a test regenerates them.
std::vector<RulesFile> shipped_rules(std::span<const verify::StatedAxiom> axioms);

/// Those of one normal form (derivation/normalize.h), as they are oriented. What users state is
/// rules/normalize.equations, of which `isomer library add` makes them.
RulesFile normalizing_rules(std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
