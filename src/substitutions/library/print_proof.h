// Proofs of models as text: what substitutions/proof/proof.h reads.
#pragma once

#include <span>
#include <string>

#include "substitutions/proof/proof.h"

namespace isomer::substitutions {

/// Errors: a size that no text says.
Result<std::string> print_proof(const ModelProof& proof, std::span<const verify::StatedAxiom> axioms);
}  // namespace isomer::substitutions
