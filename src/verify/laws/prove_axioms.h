// The laws that the rows state, for all sizes.
#pragma once

#include <vector>

#include "verify/laws/prove_law.h"
#include "verify/proof/axioms.h"

namespace isomer::verify {

/// A proof of each, if one is found for all that `trials` draws give; on several threads, the same for the same seed.
/// Without Z3 none is.
std::vector<LawProof> prove_axioms(const std::vector<StatedAxiom>& axioms, int trials, uint64_t seed, int threads);

}  // namespace isomer::verify
