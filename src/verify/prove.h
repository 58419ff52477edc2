// Proofs of ground equations: an e-graph finds the instances of laws, Z3 decides that the claim follows from them, the
// replay checker says which are needed. Test: tests/verify/prove_test.cpp
#pragma once

#include <optional>
#include <span>

#include "verify/proof/certificate.h"
#include "verify/saturate.h"
#include "verify/smt.h"

namespace isomer::verify {

struct ProveLimits {
  SaturationLimits saturation;
};

struct Proof {
  std::optional<Certificate> certificate;  ///< nothing: not proved
  Saturated stop = Saturated::kClosed;
  int rounds = 0, nodes = 0, instances = 0;
  int explained =
      0;  ///< instances on the way from one side to the other, before those without which it is one were left out
};

/// The laws and Z3, for many proofs; a proof does not depend on those before. One for each thread.
struct Prover {
  LawSet laws;
  Solver solver;

  /// With the laws of all rows. Errors: those of Solver.
  static Result<Prover> start(const SolverOptions& options = {});
};
Result<std::vector<Prover>> start_provers(int count);

/// Looks for a proof of left = right, which must be without condition and open names, for variables of these types.
/// Deterministic, and the certificate does not depend on Z3's version: Z3 only has to agree. Errors: a side is not well
/// typed, Z3 fails.
Result<Proof> prove(const Law& claim, const VariableTypes& types, Prover& prover, const ProveLimits& limits = {});

/// The equation that a use of a law stands for, spelled out, without names; dims of its variables are what the types
/// say, given or not. An error where check_law would not draw such an instance of it: types outside the family, names
/// of dims that are not the dims, negative integers, parameters that draws never set, a condition that does not hold,
/// sides that are not of one type.
Result<Law> instance_of(const StatedAxiom& axiom, const Bindings& bindings, const VariableTypes& types,
                        Signatures& signatures);

/// certificate.h's check on typed variables: every use is an instance of its law, all terms are spelled out.
Result<void> replay(const Certificate& certificate, std::span<const StatedAxiom> axioms, const Law& claim,
                    const VariableTypes& types, Signatures& signatures);

}  // namespace isomer::verify
