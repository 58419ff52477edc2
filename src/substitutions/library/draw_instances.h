// Places where a rule holds, for tests on numbers. Test: tests/substitutions/generalise_test.cpp
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "substitutions/proof/rule.h"
#include "util/random.h"

namespace isomer::substitutions {

/// The family of types, of floats, that what speaks of elements is drawn of: such as the example's.
std::string_view family_by_elements(const verify::VariableTypes& example);

/// Other places where the rule holds, of random types and parameters: those that so many draws find, each in so many
/// attempts.
std::vector<RuleInstance> draw_instances(const Rule& rule, int draws, int attempts,
                                         std::span<const verify::StatedAxiom> axioms, verify::Signatures& signatures,
                                         Random& random);

}  // namespace isomer::substitutions
