// The laws that the rows state, together: what proofs may use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "verify/check_law.h"

namespace isomer::verify {

struct StatedAxiom {
  const OpDef* op = nullptr;  ///< whose row states it
  const Axiom* axiom = nullptr;
  Law law;
};

/// All of them, in the order of the rows.
std::vector<StatedAxiom> all_axioms();

struct CheckedAxiom {
  StatedAxiom stated;
  LawCheck check;
};

/// Each on `trials` instances, on several threads; the same for the same seed.
std::vector<CheckedAxiom> check_axioms(int trials, uint64_t seed, int threads);

}  // namespace isomer::verify
