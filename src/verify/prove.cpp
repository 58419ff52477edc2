#include "verify/prove.h"

namespace isomer::verify {
Certificate minimized(const Certificate& certificate, std::span<const Law> laws, const Law& claim) {
  Certificate result = certificate;
  for (size_t k = result.uses.size(); k-- > 0;) {
    Certificate less = result;
    less.uses.erase(less.uses.begin() + static_cast<std::ptrdiff_t>(k));
    if (replay(less, laws, claim).ok()) result = std::move(less);
  }
  return result;
}

Result<Prover> Prover::start(const SolverOptions& options) {
  TRY(Solver solver, Solver::start(options));
  return Prover{LawSet(all_axioms()), std::move(solver)};
}

Result<std::vector<Prover>> start_provers(int count) {
  std::vector<Prover> result;
  for (int k = 0; k < count; ++k) {
    TRY(Prover prover, Prover::start());
    result.push_back(std::move(prover));
  }
  return result;
}

Result<Proof> prove(const Law& claim, const VariableTypes& types, Prover& prover, const ProveLimits& limits) {
  LawSet& laws = prover.laws;
  TRY(const Law spelled, spelled_claim(claim, types, laws.signatures()));
  EGraph graph(types, laws.signatures());
  TRY(const int left, graph.add(spelled.left));
  TRY(const int right, graph.add(spelled.right));
  Saturation saturation(graph, laws);
  Proof proof;
  proof.stop = saturation.run(left, right, limits.saturation);
  proof.rounds = saturation.rounds();
  proof.nodes = graph.size();
  proof.instances = static_cast<int>(saturation.instances().size());
  if (proof.stop != Saturated::kProved) return proof;

  Certificate all;
  for (const int instance : graph.explain(left, right)) all.uses.push_back(saturation.use(instance));
  proof.explained = static_cast<int>(all.uses.size());
  const auto uses = ground(all, laws.axioms(), types, laws.signatures());
  // A law may hold at other numbers than those that it would be used at.
  if (!uses.ok()) return proof;
  std::vector<std::pair<Term, Term>> equations;
  for (const Law& law : uses->laws) equations.emplace_back(law.left, law.right);
  TRY(const auto core, prover.solver.unsat_core(equations, spelled.left, spelled.right));
  if (!core) return proof;
  const Certificate needed = minimized(uses->certificate, uses->laws, spelled);
  TRY_VOID(replay(needed, uses->laws, spelled));
  proof.certificate.emplace();
  for (const LawUse& use : needed.uses) proof.certificate->uses.push_back(all.uses[static_cast<size_t>(use.law)]);
  return proof;
}

}  // namespace isomer::verify
