// Equations between terms at given sizes, proved by their elements where no laws lead from one side to the other. Test:
// tests/substitutions/equations_test.cpp
#pragma once

#include "verify/proof/replay.h"
#include "verify/prover/smt.h"

namespace isomer::verify {

enum class ByElements : uint8_t {
  kNot,          ///< found equal
  kBySolver,     ///< Z3 was asked: over the reals, or of integers' bits
  kByFunctions,  ///< by normal forms, in which functions of data stand: over the reals, not in floats of some size; or
                 ///< sums of products of integers, modulo 2^n
  kBySums,       ///< sums of products of data and maxima, by normal forms: what a certificate may say (kByElements)
};

/// A certificate's use that says that both sides have the same elements.
LawUse use_by_elements(const Term& left, const Term& right);

/// What both sides' elements are, for all values of variables; of integers that are computed with, where all that is
/// done are sums and products of them, or what bit vectors have (bit_question.h): else kNot. What is claimed is
/// why_not_proved's (proof/equal_sides.h). Errors: a side is not well typed, the solver died.
Result<ByElements> compare_elements(const Law& claim, const VariableTypes& types, Signatures& signatures,
                                    ArithmeticSolver& solver);

}  // namespace isomer::verify
