#include "verify/prover/prove.h"

#include <numeric>

namespace isomer::verify {

std::vector<size_t> needed_of(const Equations& equations, const Term& left, const Term& right) {
  std::vector<size_t> places(equations.size());
  std::iota(places.begin(), places.end(), size_t{0});
  Equations rest = equations;
  for (size_t k = equations.size(); k-- > 0;) {
    Equations less = rest;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(k));
    if (!follows(less, left, right)) continue;
    rest = std::move(less);
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return places;
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
  const auto equations = equations_of(all, laws.axioms(), types, laws.signatures());
  // A law may hold at other numbers than those that it would be used at.
  if (!equations.ok()) return proof;
  TRY(const auto core, prover.solver.unsat_core(*equations, spelled.left, spelled.right));
  if (!core) return proof;
  proof.certificate.emplace();
  for (const size_t place : needed_of(*equations, spelled.left, spelled.right))
    proof.certificate->uses.push_back(all.uses[place]);
  return proof;
}

}  // namespace isomer::verify
