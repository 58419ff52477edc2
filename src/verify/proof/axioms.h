// The laws that the rows state, together: what proofs may use.
#pragma once

#include <string>
#include <vector>

#include "verify/proof/term.h"

namespace isomer::verify {

struct StatedAxiom {
  /// "Conv.3f2a1c": whose row states it, and what of. It means this law as long as the law is what it is, whatever
  /// others there are.
  std::string name;
  const OpDef* op = nullptr;
  const Axiom* axiom = nullptr;
  Law law;
};

/// All of them, in the order of the rows.
std::vector<StatedAxiom> all_axioms();

}  // namespace isomer::verify
