// Proofs of laws' consequences on typed variables, checked: no solver, no search. Test: tests/verify/prove_test.cpp
#pragma once

#include <span>
#include <vector>

#include "verify/proof/axioms.h"
#include "verify/proof/certificate.h"
#include "verify/proof/spell_out.h"

namespace isomer::verify {

/// The equation that a use of a law stands for, spelled out, without names; dims of its variables are what the types
/// say, given or not. An error where check_law would not draw such an instance of it: types outside the family, names
/// of dims that are not the dims, negative integers, parameters that draws never set, a condition that does not hold,
/// sides that are not of one type.
Result<Law> instance_of(const StatedAxiom& axiom, const Bindings& bindings, const VariableTypes& types,
                        Signatures& signatures);

/// What the uses say, spelled out. An error where one is no instance of its law, or its sides' elements are not seen to
/// be equal, or variables are not floats of one type: integers have limits, which elements have not.
Result<Equations> equations_of(const Certificate& certificate, std::span<const StatedAxiom> axioms,
                               const VariableTypes& types, Signatures& signatures);
/// Both sides spelled out. An error where it has a condition, or its sides are not of one type.
Result<Law> spelled_claim(const Law& claim, const VariableTypes& types, Signatures& signatures);

/// Whether the claim, spelled out, follows from what the uses say.
Result<void> replay(const Certificate& certificate, std::span<const StatedAxiom> axioms, const Law& claim,
                    const VariableTypes& types, Signatures& signatures);

}  // namespace isomer::verify
