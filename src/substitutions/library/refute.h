// Rules tried on numbers: both sides of every output, exactly, at places that the guard lets through. A proof needs no
// such test; it is there for what a proof stands on. Test: tests/substitutions/library_test.cpp
#pragma once

#include "substitutions/proof/rule.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::substitutions {

struct Refutation {
  int trials = 0;  ///< inputs on which all outputs were compared
  int places = 0;  ///< of other types and parameters than the example's
  std::optional<verify::Counterexample> counterexample;
};

/// At the example and at places that are drawn, several inputs each. The same for the same seed.
Refutation refute(const Rule& rule, int trials, uint64_t seed, std::span<const verify::StatedAxiom> axioms,
                  verify::Signatures& signatures);

}  // namespace isomer::substitutions
