// Proofs of ground equations: an e-graph finds the instances of laws, Z3 decides that the claim follows from them, the
// replay checker says which are needed. Test: tests/verify/prove_test.cpp
#pragma once

#include <optional>

#include "verify/proof/replay.h"
#include "verify/prover/saturate.h"
#include "verify/prover/smt.h"

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
  std::optional<ArithmeticSolver> arithmetic = {};  ///< started where it is asked first

  /// With the laws of all rows. Errors: those of Solver.
  static Result<Prover> start(const SolverOptions& options = {});
};
Result<std::vector<Prover>> start_provers(int count);

/// Places of the equations that are left when each without which left = right still follows is left out.
std::vector<size_t> needed_of(const Equations& equations, const Term& left, const Term& right);

/// Looks for a proof of left = right, which must be without condition and open names, for variables of these types.
/// Deterministic, and the certificate does not depend on Z3's version: Z3 only has to agree. Errors: a side is not well
/// typed, Z3 fails.
Result<Proof> prove(const Law& claim, const VariableTypes& types, Prover& prover, const ProveLimits& limits = {});

}  // namespace isomer::verify
