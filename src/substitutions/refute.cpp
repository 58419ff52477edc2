#include "substitutions/refute.h"

#include <algorithm>

namespace isomer::substitutions {
namespace {

constexpr int kInputs = 10;  ///< at each place
constexpr int kAttempts = 20;

}  // namespace

Refutation refute(const Rule& rule, int trials, uint64_t seed, std::span<const verify::StatedAxiom> axioms, verify::Signatures& signatures) {
  Random random(seed);
  Refutation result;
  std::vector<RuleInstance> places = draw_instances(rule, std::max(1, trials / kInputs), kAttempts, axioms, signatures, random);
  result.places = static_cast<int>(places.size());
  places.insert(places.begin(), rule.example);
  for (int trial = 0; trial < trials && !result.counterexample; ++trial) {
    const RuleInstance& place = places[static_cast<size_t>(trial) % places.size()];
    for (const Output& output : equations_at(rule, place)) {
      const auto check = verify::check_instance({{output.left, output.right, {}}, place.types}, random);
      if (!check) return result;
      if (check->counterexample) result.counterexample = check->counterexample;
    }
    ++result.trials;
  }
  return result;
}

}  // namespace isomer::substitutions
