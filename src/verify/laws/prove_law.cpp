#include "verify/laws/prove_law.h"

#include <algorithm>

#include "verify/prover/solver_oracle.h"

namespace isomer::verify {

Result<LawProof> prove_law(const Law& law, std::string_view family, int trials, uint64_t seed,
                           ArithmeticSolver& solver) {
  TRY_VOID(solver.start_over());
  Random random(seed);
  LawProof result;
  for (int trial = 0; trial < trials; ++trial) {
    const auto instance = draw_instance(law, family, random);
    if (!instance) break;
    if (!is_typed(*instance) || !has_elements(*instance)) continue;
    if (std::any_of(result.proved.begin(), result.proved.end(),
                    [&](const LawSizes& known) { return covers(known, *instance); }))
      continue;
    LawSizes sizes = with_sizes(law, family, *instance);
    ++result.structures;
    SolverOracle oracle(solver);
    const auto reason = why_not_proved(sizes, &oracle);
    if (oracle.error()) return *oracle.error();
    if (reason) {
      result.open = fmt::format("{}: {}", text(sizes), *reason);
      return result;
    }
    result.proved.push_back(std::move(sizes));
  }
  return result;
}

}  // namespace isomer::verify
