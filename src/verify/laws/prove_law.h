// Is a law true for all sizes? Its instances are drawn as check_law draws them, given names for their sizes, and both
// sides' elements are compared as sums of products, by Z3 where that is not enough. What is claimed: for all sizes of
// at least 1 for which all that is computed on the way has elements, both sides are equal over the reals, functions
// having values everywhere and integers no limits. Ranks, element types, ones and attributes (with sizes that these
// state) are those drawn. Test: tests/verify/prove_law_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verify/laws/law_sizes.h"
#include "verify/prover/smt.h"

namespace isomer::verify {

struct LawProof {
  int structures = 0;  ///< combinations of ranks, attributes and what sizes are equal, that cover the instances drawn
  std::vector<LawSizes> proved;
  std::string open;  ///< one that was not proved, if any, and why
  bool holds() const { return structures > 0 && proved.size() == static_cast<size_t>(structures); }
};

/// Stops at the first structure that is not proved. An error where the solver died.
Result<LawProof> prove_law(const Law& law, std::string_view family, int trials, uint64_t seed,
                           ArithmeticSolver& solver);

}  // namespace isomer::verify
