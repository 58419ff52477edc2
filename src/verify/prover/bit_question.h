// Integers of fixed widths that nodes compute element by element, as bit vectors. Test:
// tests/substitutions/equations_test.cpp
#pragma once

#include "util/result.h"
#include "verify/proof/term_graph.h"
#include "verify/prover/smt.h"

namespace isomer::verify {

/// Whether the solver finds both sides' elements to be the same bits for all integers and truth values of these types.
/// False where nodes do more than to move elements and to compute with them, for floats, for divisors, shifts and
/// exponents that are not known, and where no answer was found. Errors: the solver died.
Result<bool> have_equal_bits(const Law& sides, const VariableTypes& types, ArithmeticSolver& solver);

}  // namespace isomer::verify
