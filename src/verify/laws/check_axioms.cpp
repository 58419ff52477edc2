#include "verify/laws/check_axioms.h"

#include "util/parallel.h"

namespace isomer::verify {

std::vector<CheckedAxiom> check_axioms(int trials, uint64_t seed, int threads) {
  const std::vector<StatedAxiom> stated = all_axioms();
  std::vector<LawCheck> checks(stated.size());
  ThreadPool pool(threads);
  pool.run(static_cast<int64_t>(stated.size()), [&](int64_t k, int) {
    const auto at = static_cast<size_t>(k);
    checks[at] = check_law(stated[at].law, stated[at].axiom->shapes, trials, seed, stated[at].axiom->float_class);
  });
  std::vector<CheckedAxiom> result;
  for (size_t k = 0; k < stated.size(); ++k) result.push_back({stated[k], std::move(checks[k])});
  return result;
}

}  // namespace isomer::verify
