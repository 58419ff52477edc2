#include "verify/prover/prove_elements.h"

#include <algorithm>

#include "verify/proof/equal_sides.h"
#include "verify/prover/solver_oracle.h"

namespace isomer::verify {

LawUse use_by_elements(const Term& left, const Term& right) {
  LawUse result{kByElements, {}};
  result.bindings.tensors = {{"left", left}, {"right", right}};
  return result;
}

Result<ByElements> compare_elements(const Law& claim, const VariableTypes& types, Signatures& signatures,
                                    ArithmeticSolver& solver) {
  TRY(const Law sides, spelled_claim(claim, types, signatures));
  LawSizes sizes{sides, types};
  sizes.computes_integers = false;
  if (!why_not_proved(sizes, nullptr)) {
    const bool all_floats = std::ranges::all_of(types, [](const auto& named) { return is_float(named.second.dtype); });
    sizes.may_call = false;
    return all_floats && !why_not_proved(sizes, nullptr) ? ByElements::kBySums : ByElements::kByFunctions;
  }
  TRY_VOID(solver.start_over());
  SolverOracle oracle(solver);
  const auto reason = why_not_proved(sizes, &oracle);
  if (oracle.error()) return *oracle.error();
  return reason ? ByElements::kNot : ByElements::kBySolver;
}

}  // namespace isomer::verify
