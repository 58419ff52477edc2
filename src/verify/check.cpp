#include "verify/check.h"

#include <fmt/ranges.h>

#include "graph/bind.h"
#include "graph/interpret.h"
#include "graph/te/integer.h"
#include "verify/fitting_sizes.h"
#include "verify/seams.h"

namespace isomer {
namespace {

struct Candidate {
  std::map<std::string, int64_t> sizes;
  bool last_resort = false;  ///< only where the model ran on nothing smaller
};

/// Sizes tried for symbolic dims, smallest first: different ones tell apart what equal ones would not, strided or
/// concatenated feature maps want multiples of 32, and sounds are long. What weights leave no choice for comes first.
std::vector<Candidate> candidate_sizes(const Graph& graph) {
  const std::vector<std::string> dims = free_dims(graph);
  if (dims.empty()) return {{}};
  std::vector<Candidate> candidates;
  const auto add = [&](const std::function<int64_t(int64_t)>& size, bool last_resort = false) {
    Candidate& candidate = candidates.emplace_back();
    candidate.last_resort = last_resort;
    for (size_t k = 0; k < dims.size(); ++k) candidate.sizes[dims[k]] = size(static_cast<int64_t>(k));
  };
  add([](int64_t k) { return 2 + k; });
  if (const auto fitting = fitting_sizes(graph); fitting && *fitting != candidates.front().sizes)
    candidates.insert(candidates.begin(), Candidate{*fitting});
  add([](int64_t k) { return 5 + 3 * k; });
  for (const int64_t size : {4, 1, 8, 16}) add([=](int64_t) { return size; });
  // The first dim mostly is the number of samples: few are tried before as many as there are elements.
  add([](int64_t k) { return k == 0 ? 2 : 32 + 32 * k; });
  for (const int64_t size : {32, 64, 96, 224})
    for (const int64_t first : {int64_t{2}, int64_t{1}, size}) add([=](int64_t k) { return k == 0 ? first : size; });
  for (const int64_t size : {512, 2048, 16384})
    for (const int64_t first : {int64_t{1}, size}) add([=](int64_t k) { return k == 0 ? first : size; }, true);
  return candidates;
}

/// What is made as a last resort must not be the end of a small machine.
constexpr int64_t kMostElements = int64_t{1} << 24;

bool is_moderate(const Graph& bound) {
  int64_t elements = 0;
  for (const ValueId input : bound.inputs())
    if (const ValueType& type = bound.value(input).type; type.has_shape())
      if (const Dim count = element_count(*type.shape); count.is_constant())
        elements = te::saturating_add(elements, count.value());
  return elements <= kMostElements;
}

std::vector<te::Array> arrays(const std::vector<Tensor>& tensors) {
  std::vector<te::Array> result;
  for (const Tensor& tensor : tensors) result.push_back(te::Array::from(tensor));
  return result;
}

/// Inputs for these sizes, if the reference runs on them.
Result<std::vector<te::Array>> inputs_for(const Graph& reference, const Candidate& candidate, uint64_t seed) {
  Graph bound = reference;
  TRY_VOID(bind_inputs(bound, candidate.sizes, {}));
  if (candidate.last_resort && !is_moderate(bound)) return unsupported("", "smaller inputs expected");
  TRY(const std::vector<Tensor> tensors, generate_inputs(bound, {.seed = seed}));
  return arrays(tensors);
}

}  // namespace

Result<CheckReport> check_same(const Graph& before, const Graph& after, const CheckOptions& options) {
  TRY(const CutPair cut, cut_at_opaque(before, after));
  const auto& [reference, candidate] = cut;
  CheckReport report;
  report.nodes_unchecked = reference.unchecked;
  const auto dims = free_dims(reference.graph);
  std::string refusal;
  for (const Candidate& candidate_size : candidate_sizes(reference.graph)) {
    const int left = options.runs - report.equivalence.runs;
    if (left == 0 || !report.equivalence.passed()) break;
    if (candidate_size.last_resort && report.equivalence.runs > 0) break;
    // Without symbolic dims all runs have one shape; else each run has another.
    std::vector<std::vector<te::Array>> input_sets;
    std::optional<Error> failed;
    for (int run = 0; run < (dims.empty() ? left : 1) && !failed; ++run) {
      auto inputs = inputs_for(reference.graph, candidate_size, options.seed + report.equivalence.runs + run);
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
      if (failed->kind == ErrorKind::kStopped) return *failed;
      if (refusal.empty() || !candidate_size.last_resort) refusal = failed->message();
      continue;
    }
    TRY(const Equivalence compared, compare_models_on(reference.graph, candidate.graph, input_sets, options.threads));
    report.equivalence.runs += compared.runs;
    report.equivalence.max_abs_error = std::max(report.equivalence.max_abs_error, compared.max_abs_error);
    report.equivalence.max_error_over_bound =
        std::max(report.equivalence.max_error_over_bound, compared.max_error_over_bound);
    report.equivalence.difference = compared.difference;
  }
  if (report.equivalence.runs == 0)
    return unsupported("check",
                       "inputs that the model runs on expected, none found ({}); bind its dims with --dim, or skip the "
                       "check with --no-check",
                       refusal);
  return report;
}

}  // namespace isomer
