// Claims as laws and types; whether both sides have the same values.
#pragma once

#include "verify/claims.h"
#include "verify/term_graph.h"

namespace isomer::verify::test {

Law law_of(const Claim& claim);
VariableTypes types_of(const Claim& claim);
/// On random inputs, in double precision, up to rounding.
bool agree(const Law& equation, const VariableTypes& types);

}  // namespace isomer::verify::test
