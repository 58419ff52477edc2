// From an equation at one size to a rule at any: what the proof does not fix becomes a name. Two parameters share a
// name where a law of the proof says so, numbers are computed from others where the laws or the rows' types say how,
// axes that laws count from the back are counted so, and little else is left of the numbers that the equation was found
// with. Test: tests/substitutions/generalise_test.cpp
#pragma once

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// The equations are ground and over variables of these types; the proof is one of each of them together. Where the
/// proof as a scheme says less than it does at this size, names stay numbers; the result always holds at its example.
/// Numbers of the right side that nothing computes from the left are free: any value for which the proof holds will do.
Result<Rule> generalised(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                         const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms,
                         verify::Signatures& signatures);

}  // namespace isomer::substitutions
