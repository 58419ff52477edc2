// Whether conditions over integers can all hold, decided without a solver: Fourier-Motzkin elimination, every
// inequality rounded to what integers reach (Pugh 1991, "The Omega test", section 2: the real shadow). Test:
// tests/verify/linear_facts_test.cpp
#pragma once

#include <span>

#include "graph/te/expr.h"

namespace isomer::verify {

/// True: no integers make them all true. False: such integers were not ruled out. What is not linear (a product of
/// names, a division by one) is any integer, the same wherever it is written so.
bool are_contradictory(std::span<const te::Expr> conditions);

}  // namespace isomer::verify
