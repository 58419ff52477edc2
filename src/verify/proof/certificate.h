// What a proof is, and what follows from equations by congruence alone: no solver and no search. Test:
// tests/verify/certificate_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "verify/proof/substitute.h"

namespace isomer::verify {

/// No law: what the tensors "left" and "right" stand for have the same elements (equal_sides.h).
constexpr int kByElements = -1;

/// A law of the list that a proof is given with, and what its names stand for.
struct LawUse {
  int law = 0;
  Bindings bindings;
};

struct Certificate {
  std::vector<LawUse> uses;
};

using Equations = std::vector<std::pair<Term, Term>>;

/// Whether left = right follows from the equations: terms are equal where operators, parameters and arguments are.
bool follows(const Equations& equations, const Term& left, const Term& right);

}  // namespace isomer::verify
