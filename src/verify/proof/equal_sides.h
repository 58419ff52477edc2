// Whether both sides of a law have the same elements, for sizes that are names or numbers. What is claimed: for all
// sizes (ElementMaker::least) for which all that is computed on the way has elements, both sides are equal over the
// reals, functions having values everywhere and integers no limits. Test: tests/verify/prove_law_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/proof/index_facts.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify {

/// An instance of a law with names for its sizes, or one with numbers.
struct LawSizes {
  Law law;                           ///< sizes are arithmetic over names; the condition is of these
  VariableTypes types;               ///< dims are
  std::vector<te::Expr> facts = {};  ///< that tensors on the way have elements
  bool is_general = true;
  bool may_call = true;           ///< functions; else sums of products of data and maxima of them only
  bool computes_integers = true;  ///< as if they had no limits; else they are moved and compared only
};

/// Whether both sides have equal shapes and elements for all sizes; else why not. No oracle: by normal forms alone.
std::optional<std::string> why_not_proved(const LawSizes& sizes, Oracle* oracle);

}  // namespace isomer::verify
