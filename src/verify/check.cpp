#include "verify/check.h"

#include <fmt/ranges.h>

#include "graph/bind.h"
#include "graph/interpret.h"
#include "verify/seams.h"

namespace isomer {
namespace {

/// Sizes tried for symbolic dims, smallest first: different ones tell apart what equal ones would not, and strided or
/// concatenated feature maps want multiples of 32.
std::vector<std::map<std::string, int64_t>> candidate_sizes(const std::vector<std::string>& dims) {
  if (dims.empty()) return {{}};
  std::vector<std::map<std::string, int64_t>> candidates;
  const auto add = [&](const std::function<int64_t(int64_t)>& size) {
    auto& sizes = candidates.emplace_back();
    for (size_t k = 0; k < dims.size(); ++k) sizes[dims[k]] = size(static_cast<int64_t>(k));
  };
  add([](int64_t k) { return 2 + k; });
  add([](int64_t k) { return 5 + 3 * k; });
  for (const int64_t size : {4, 1, 8, 16}) add([=](int64_t) { return size; });
  add([](int64_t k) { return 32 + 32 * k; });
  for (const int64_t size : {32, 64, 96, 224}) add([=](int64_t) { return size; });
  return candidates;
}

std::vector<te::Array> arrays(const std::vector<Tensor>& tensors) {
  std::vector<te::Array> result;
  for (const Tensor& tensor : tensors) result.push_back(te::Array::from(tensor));
  return result;
}

/// Inputs for these sizes, if the reference runs on them.
Result<std::vector<te::Array>> inputs_for(const Graph& reference, const std::map<std::string, int64_t>& sizes, uint64_t seed) {
  Graph bound = reference;
  TRY_VOID(bind_inputs(bound, sizes, {}));
  TRY(const std::vector<Tensor> tensors, generate_inputs(bound, {.seed = seed}));
  return arrays(tensors);
}

}  // namespace

Result<CheckReport> check_same(const Graph& before, const Graph& after, const CheckOptions& options) {
  TRY(const CutGraph reference, cut_at_opaque(before));
  TRY(const CutGraph candidate, cut_at_opaque(after));
  CheckReport report;
  report.nodes_unchecked = reference.unchecked;
  const auto dims = free_dims(reference.graph);
  std::string refusal;
  for (const auto& sizes : candidate_sizes(dims)) {
    const int left = options.runs - report.equivalence.runs;
    if (left == 0 || !report.equivalence.passed()) break;
    // Without symbolic dims all runs have one shape; else each run has another.
    std::vector<std::vector<te::Array>> input_sets;
    std::optional<Error> failed;
    for (int run = 0; run < (dims.empty() ? left : 1) && !failed; ++run) {
      auto inputs = inputs_for(reference.graph, sizes, options.seed + report.equivalence.runs + run);
      if (inputs.ok())
        input_sets.push_back(std::move(*inputs));
      else
        failed = inputs.error();
    }
    if (!failed && !dims.empty()) {
      const auto runs = interpret(reference.graph, input_sets.front(), {.threads = options.threads});
      if (!runs.ok()) failed = runs.error();
    }
    if (failed) {
      refusal = failed->message();
      continue;
    }
    TRY(const Equivalence compared, compare_models_on(reference.graph, candidate.graph, input_sets, options.threads));
    report.equivalence.runs += compared.runs;
    report.equivalence.max_abs_error = std::max(report.equivalence.max_abs_error, compared.max_abs_error);
    report.equivalence.max_error_over_bound = std::max(report.equivalence.max_error_over_bound, compared.max_error_over_bound);
    report.equivalence.difference = compared.difference;
  }
  if (report.equivalence.runs == 0)
    return unsupported("check", "inputs that the model runs on expected, none found ({}); bind its dims with --dim, or skip the check with --no-check",
                       refusal);
  return report;
}

}  // namespace isomer
