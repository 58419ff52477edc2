// Proofs that anyone can check: the instances of laws from which an equation follows by congruence alone. This checker
// knows no solver and no search; what it trusts is the laws (check_law.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/proof/substitute.h"

namespace isomer::verify {

/// A law of the list that a proof is given with, and what its names stand for.
struct LawUse {
  int law = 0;
  Bindings bindings;
};

struct Certificate {
  std::vector<LawUse> uses;
};

/// Whether left = right follows from the equations: terms are equal where their operators, parameters and arguments
/// are.
bool follows(std::span<const std::pair<Term, Term>> equations, const Term& left, const Term& right);

/// Whether the certificate proves the claim: every use is its law with names replaced, the conditions of the laws used
/// hold (as they stand among the claim's, or for numbers), and the claim follows from the uses. An error says which
/// does not.
Result<void> replay(const Certificate& certificate, std::span<const Law> laws, const Law& claim);

}  // namespace isomer::verify
