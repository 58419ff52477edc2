// Terms and laws of text that parses, claims as laws and types; whether both sides have the same values.
#pragma once

#include "verify/claims.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify::test {

inline Term term(std::string_view text) { return *parse_term(text); }
inline Law law(std::string_view text) { return *parse_law(text); }

inline Law law_of(const Claim& claim) { return law(claim.equation); }
VariableTypes types_of(const Claim& claim);
/// On random inputs, in double precision, up to rounding.
bool agree(const Law& equation, const VariableTypes& types);

}  // namespace isomer::verify::test
