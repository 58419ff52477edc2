#include "driver/check_code.h"

#include <algorithm>
#include <new>

#include "driver/load_artifact.h"
#include "search/code/run_artifact.h"
#include "search/code/targets.h"
#include "verify/check/inputs.h"

namespace isomer {
namespace {

/// More inputs than one are tried where they may reach what has not run yet: a side of a branch is one of two.
constexpr int kMostRuns = 8;

/// Code for another CPU is not checked at all (can_check).
bool runs_here(const search::Compilation& code) {
  return !code.plain || search::runs_here(kernel::CudaTarget{code.artifact.variants[0].target.name});
}

/// The code may be right, and can be had without a check.
Error unchecked(const Error& why) { return unsupported("check", "{}; --no-check skips the check", why.message()); }

Result<CodeCheck> compared(const Graph& model, const search::Compilation& code, const CheckCodeOptions& options) {
  TRY_VOID(check_memory(model, 1, options.memory));
  const bool is_here = runs_here(code);
  TRY(const auto session, open_session(is_here ? code.artifact : *code.plain, options.threads, options.memory));
  // Where integers have to fit each other (a mask whose sum is a length), one number in all places may.
  const auto inputs = [&](int set) -> Result<std::vector<te::Array>> {
    TRY(const std::vector<Tensor> tensors, generate_inputs(model, {.seed = options.seed + static_cast<uint64_t>(set),
                                                                   .masks = true,
                                                                   .bytes = true,
                                                                   .even = set >= kMostRuns,
                                                                   .memory = options.memory}));
    return te::to_arrays(tensors);
  };
  const auto run = [&](std::span<const te::Array> given) { return search::run_artifact(*session, given); };
  const auto is_enough = [&] { return Clock::now() >= options.until || coverage_of(code, *session).is_complete(); };
  const ComparisonEffort effort{.threads = options.threads,
                                .strictness = {.reach = reach_of(session->variant())},
                                .until = options.until,
                                .memory = options.memory,
                                .is_enough = is_enough};
  auto equivalence = compare_with(model, run, inputs, kMostRuns, effort);
  if (!equivalence.ok() && equivalence.error().kind == ErrorKind::kInvalid)
    return unsupported("", "seeded inputs on which the model runs expected, found: {}", equivalence.error().message());
  if (!equivalence.ok()) return std::move(equivalence).error();
  return CodeCheck{*std::move(equivalence), coverage_of(code, *session), !is_here};
}

}  // namespace

double reach_of(const runtime::Variant& variant) {
  constexpr double kOfTf32 = 1 << 13;
  const auto& features = variant.target.features;
  return std::ranges::find(features, runtime::kTf32) == features.end() ? 1 : kOfTf32;
}

bool can_check(const kernel::Target& target) {
  return std::holds_alternative<kernel::CudaTarget>(target) || search::runs_here(target);
}

Result<CodeCheck> check_code(const Graph& model, const search::Compilation& code, const CheckCodeOptions& options) {
  try {
    auto made = compared(model, code, options);
    if (made.ok() || made.error().kind != ErrorKind::kUnsupported) return made;
    return unchecked(made.error());
  } catch (const std::bad_alloc&) {
    return unchecked(unsupported("", "less memory expected, more needed than is left"));
  }
}

}  // namespace isomer
