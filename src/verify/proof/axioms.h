// The laws that the rows state, together: what proofs may use.
#pragma once

#include <vector>

#include "verify/proof/term.h"

namespace isomer::verify {

struct StatedAxiom {
  const OpDef* op = nullptr;  ///< whose row states it
  const Axiom* axiom = nullptr;
  Law law;
};

/// All of them, in the order of the rows.
std::vector<StatedAxiom> all_axioms();

}  // namespace isomer::verify
