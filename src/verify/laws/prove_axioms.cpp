#include "verify/laws/prove_axioms.h"

#include <memory>

#include "util/parallel.h"

namespace isomer::verify {

std::vector<LawProof> prove_axioms(const std::vector<StatedAxiom>& axioms, int trials, uint64_t seed, int threads) {
  std::vector<LawProof> proofs(axioms.size());
  ThreadPool pool(threads);
  std::vector<std::unique_ptr<ArithmeticSolver>> solvers(static_cast<size_t>(pool.threads()));
  pool.run(static_cast<int64_t>(axioms.size()), [&](int64_t k, int thread) {
    const StatedAxiom& stated = axioms[static_cast<size_t>(k)];
    LawProof& proof = proofs[static_cast<size_t>(k)];
    auto& solver = solvers[static_cast<size_t>(thread)];
    if (!solver) {
      auto started = ArithmeticSolver::start();
      if (!started.ok()) {
        proof.open = started.error().message();
        return;
      }
      solver = std::make_unique<ArithmeticSolver>(*std::move(started));
    }
    auto found = prove_law(stated.law, stated.axiom->shapes, trials, seed, *solver);
    if (found.ok()) {
      proof = *std::move(found);
    } else {
      proof.open = found.error().message();
      solver.reset();
    }
  });
  return proofs;
}

}  // namespace isomer::verify
