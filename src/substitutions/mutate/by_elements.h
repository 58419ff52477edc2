// Rules whose proofs speak of elements (verify/proof/replay.h), without a law. Test:
// tests/substitutions/elements_test.cpp
#pragma once

#include <string>
#include <vector>

#include "substitutions/proof/rule.h"
#include "verify/prover/smt.h"

namespace isomer::substitutions {

/// That both sides of each output have the same elements.
verify::Certificate proof_by_elements(const std::vector<Output>& outputs);

/// What a use of no law says, as a law of variables of these ranks.
verify::Law law_by_elements(const verify::LawUse& use, const verify::VariableTypes& types);

/// What a rule's proof says of elements, for all sizes and parameters of the variables' ranks, such as so many draws
/// find: what was not proved, if any. Errors: Z3 fails.
Result<std::string> open_elements(const Rule& rule, int trials, uint64_t seed, verify::ArithmeticSolver& solver);

}  // namespace isomer::substitutions
