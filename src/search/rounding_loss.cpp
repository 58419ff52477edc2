#include "search/rounding_loss.h"

#include "graph/interpret.h"

namespace isomer::search {
namespace {

/// Sets of inputs that are tried: where a seeded divisor is zero, or a trip count is not what shapes ask for, the model
/// does not run.
constexpr int kMostSets = 64;

}  // namespace

RoundingLoss::RoundingLoss(const Graph& model, InputsOf inputs, const ComparisonEffort& effort)
    : model_(model), make_inputs_(std::move(inputs)), effort_(effort) {}

Result<std::optional<Equivalence>> RoundingLoss::of(const Graph& made) {
  if (is_new()) {
    TRY(const bool runs, open());
    if (!runs) return std::optional<Equivalence>();
  }
  TRY_VOID(check_interfaces(model_, made));
  InterpretOptions as_it_is{.threads = effort_.threads, .memory = effort_.memory};
  InterpretOptions rounded = as_it_is;
  rounded.round_values = true;
  TRY(Arrays in_floats, interpret(made, inputs_, rounded));
  TRY(Equivalence of_floats, compared(std::move(in_floats), sum_units(model_)));
  if (!of_floats.passed()) return std::optional(std::move(of_floats));
  TRY(Arrays in_doubles, interpret(made, inputs_, as_it_is));
  TRY(Equivalence of_doubles, compared(std::move(in_doubles), 0));
  const bool is_worse = !of_doubles.passed() || of_doubles.max_error_over_bound > of_floats.max_error_over_bound;
  return std::optional(is_worse ? std::move(of_doubles) : std::move(of_floats));
}

Result<bool> RoundingLoss::open() {
  for (int set = 0; set < kMostSets; ++set) {
    TRY(inputs_, make_inputs_(set));
    const auto ran = run({.threads = effort_.threads, .memory = effort_.memory});
    if (ran.ok()) return true;
    if (ran.error().kind == ErrorKind::kStopped) return ran.error();
  }
  return false;
}

Result<RoundingLoss::Arrays> RoundingLoss::run(const InterpretOptions& options) {
  const RandomRounding none{.half_ulps = 0};
  const RandomRounding& movement = options.movement ? *options.movement : none;
  const std::tuple key(options.round_values, movement.seed, movement.half_ulps, movement.opposite);
  if (const auto known = runs_.find(key); known != runs_.end()) return known->second;
  TRY(Arrays outputs, interpret(model_, inputs_, options));
  return runs_.emplace(key, std::move(outputs)).first->second;
}

Result<Equivalence> RoundingLoss::compared(Arrays found, double units) {
  Equivalence result;
  TRY(Arrays expected, run({.threads = effort_.threads, .memory = effort_.memory}));
  const RunInterpreted again = [&](const InterpretOptions& options) { return run(options); };
  TRY_VOID(compare_outputs(model_, again, std::move(expected), std::move(found), units, effort_, result));
  return result;
}

}  // namespace isomer::search
