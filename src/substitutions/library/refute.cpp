#include "substitutions/library/refute.h"

#include <algorithm>

#include "substitutions/discover/fingerprint.h"
#include "substitutions/library/draw_instances.h"

namespace isomer::substitutions {
namespace {

constexpr int kRounds = 3;  ///< at each place, kSeeds inputs a round
constexpr int kAttempts = 20;
constexpr int kExactRounds = 10;  ///< one of so many rounds is over the rationals at once
constexpr int kFailures =
    200;  ///< rounds one after the other, on inputs that say nothing (integers divided by zero), before it gives up

/// Over Z_p, on kSeeds inputs at a time; nothing where that has no meaning.
std::optional<bool> agree(const Output& output, const verify::VariableTypes& types, uint64_t seed) {
  std::map<std::string, Dims> dims;
  for (const auto& [name, type] : types) {
    if (type.dtype != DataType::kFloat32) return std::nullopt;
    dims.emplace(name, *constants(*type.shape));
  }
  const Universe universe(seed, false);
  const auto left = fingerprint(output.left, dims, universe, false),
             right = fingerprint(output.right, dims, universe, false);
  if (!left.ok() || !right.ok()) return std::nullopt;
  return *left == *right;
}

}  // namespace

Refutation refute(const Rule& rule, int trials, uint64_t seed, std::span<const verify::StatedAxiom> axioms,
                  verify::Signatures& signatures) {
  Random random(seed);
  Refutation result;
  std::vector<RuleInstance> places =
      draw_instances(rule, std::max(1, trials / (kRounds * kSeeds)), kAttempts, axioms, signatures, random);
  result.places = static_cast<int>(places.size());
  places.insert(places.begin(), rule.example);
  int failures = 0;
  for (size_t round = 0; result.trials < trials && failures < kFailures && !result.counterexample; ++round) {
    const RuleInstance& place = places[round % places.size()];
    bool all_agree = round % kExactRounds != 0, is_evaluated = true;
    for (const Output& output : equations_at(rule, place)) {
      const uint64_t inputs = random.next();
      if (all_agree && agree(output, place.types, inputs) == true) continue;
      // What differs there may be equal for the functions that are meant.
      all_agree = false;
      const auto check =
          verify::check_instance({{output.left, output.right, {}}, place.types}, random, rule.float_class);
      is_evaluated = is_evaluated && check;
      if (check && check->counterexample) result.counterexample = check->counterexample;
    }
    failures = is_evaluated ? 0 : failures + 1;
    if (is_evaluated) result.trials += all_agree ? kSeeds : 1;
  }
  return result;
}

}  // namespace isomer::substitutions
