#include "search/optimize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/bind.h"
#include "graph/interpret.h"
#include "util/clock.h"
#include "util/stable_sort.h"
#include "verify/equivalence.h"
#include "verify/inputs.h"

namespace isomer {
namespace {

using namespace substitutions;

/// Of the time, the rest is for compiling and racing what was found.
constexpr double kSearching = 0.7;

/// Of what the check allows: other inputs may lose more.
constexpr double kMostLost = 0.75;

class Optimizer {
 public:
  Optimizer(const Graph& model, Derivation derivation, std::span<const Rule> rules, Theory& theory, Backend& backend,
            const OptimizeModelOptions& options)
      : model_(model),
        rules_(rules),
        theory_(theory),
        backend_(backend),
        options_(options),
        base_(std::move(derivation)) {}

  Result<OptimizedModel> run() {
    TRY(const Start start, start_of(model_, base_, theory_, {options_.threads, options_.log}));
    TRY(Derived plain, derived(start, base_));
    OptimizedModel result{base_, std::move(plain), {}, SearchOutcome::kPasses, std::nullopt, {}, std::nullopt};
    const std::vector<NodeId> nodes = model_.nodes();
    const bool is_understood =
        std::none_of(nodes.begin(), nodes.end(), [&](NodeId id) { return model_.node(id).is_opaque(); });
    auto inputs = generate_inputs(model_, {.seed = options_.seed});
    if (!is_understood || model_.node_count() > options_.most_nodes || !free_dims(model_).empty() || !inputs.ok())
      return result;
    const auto begin = Clock::now();
    const Plain program = with_plain_operands(start.program);
    Substitutions substitutions(rules_, theory_);
    ImproveOptions search = options_.search;
    search.fp = base_.fp;
    search.limits.seconds *= kSearching;
    search.log = options_.log;
    search.race.threads = options_.threads;
    TRY(result.found, improve(program.program, substitutions, backend_, search));
    result.outcome = result.found->gains.empty() ? SearchOutcome::kNothingFound : SearchOutcome::kSlower;
    if (result.outcome == SearchOutcome::kNothingFound) return result;
    auto first = backend_.runner(result.derived.graph, *inputs);
    if (!first.ok()) {
      log(first.error().message());
      return result;
    }
    for (const std::vector<size_t>& chosen : choices(*result.found)) {
      // All of them at once are raced, whatever that takes.
      if (result.raced && seconds_since(begin) > options_.search.limits.seconds) break;
      auto tried =
          race_with(start, program, steps_of(*result.found, chosen, program.program, substitutions), **first, *inputs);
      if (!tried.ok()) {
        if (tried.error().kind == ErrorKind::kMismatch) {
          result.refused.push_back(tried.error().message());
        } else if (tried.error().kind != ErrorKind::kUnsupported) {
          return std::move(tried).error();
        }
        log(tried.error().message());
        continue;
      }
      log(fmt::format("{} gains: {:.1f} us before, {:.1f} us after, {:.4f} times as fast ({:.4f} to {:.4f})",
                      chosen.size(), tried->raced->first, tried->raced->second, tried->raced->ratio, tried->raced->low,
                      tried->raced->high));
      result.raced = tried->raced;
      if (!is_won(*tried->raced)) continue;
      TRY(const bool is_close, loses_little(tried->derived.graph, *inputs));
      if (!is_close) continue;
      tried->found = std::move(result.found);
      tried->refused = std::move(result.refused);
      return tried;
    }
    return result;
  }

 private:
  /// All gains, then the larger half of them, and again, down to the largest: what pays alone may not beside others.
  static std::vector<std::vector<size_t>> choices(const Improved& found) {
    std::vector<size_t> ranked(found.gains.size());
    for (size_t k = 0; k < ranked.size(); ++k) ranked[k] = k;
    stable_sort(ranked, [&](size_t a, size_t b) { return found.gains[a].saved > found.gains[b].saved; });
    std::vector<std::vector<size_t>> result;
    for (size_t count = ranked.size(); count > 0; count /= 2) {
      result.emplace_back(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count));
      std::sort(result.back().begin(), result.back().end());
    }
    return result;
  }

  Result<OptimizedModel> race_with(const Start& start, const Plain& plain, const Chosen& chosen, Runner& first,
                                   std::span<const Tensor> inputs) {
    OptimizedModel tried{base_, {}, {}, SearchOutcome::kFaster, std::nullopt, {}, std::nullopt};
    tried.derivation.steps = plain.steps;
    tried.derivation.steps.insert(tried.derivation.steps.end(), chosen.steps.begin(), chosen.steps.end());
    tried.gains.assign(plain.steps.size(), 0);
    tried.gains.insert(tried.gains.end(), chosen.saved.begin(), chosen.saved.end());
    tried.derivation.rules = rules_of(tried.derivation.steps, rules_, theory_.axioms());
    TRY(tried.derived, derived(start, tried.derivation));
    TRY(const auto second, backend_.runner(tried.derived.graph, inputs));
    RaceOptions options = options_.race;
    options.threads = options_.threads;
    TRY(tried.raced, race(first, *second, options));
    // Small gains take longer to tell from noise.
    if (tried.raced->high > 1 && !is_won(*tried.raced)) {
      options.seconds *= 3;
      TRY(tried.raced, race(first, *second, options));
    }
    return tried;
  }

  /// Whether rounding does to it what it may: steps that sum otherwise than the model does, or with larger numbers in
  /// between, lose digits.
  Result<bool> loses_little(const Graph& graph, std::span<const Tensor> tensors) const {
    std::vector<std::vector<te::Array>> inputs(1);
    for (const Tensor& tensor : tensors) inputs[0].push_back(te::Array::from(tensor));
    const auto rounding = [&](std::span<const te::Array> given) {
      return interpret(graph, given, {.threads = options_.threads, .round_values = true});
    };
    TRY(const Equivalence in_floats, compare_with(model_, rounding, inputs, options_.threads));
    TRY(const Equivalence in_doubles, compare_models_on(model_, graph, inputs, options_.threads));
    const double most = std::max(in_floats.max_error_over_bound, in_doubles.max_error_over_bound);
    log(fmt::format("rounding takes {:.2g} of what it may", most));
    return most <= kMostLost;
  }

  bool is_won(const Raced& raced) const {
    return raced.ratio >= options_.least_speedup && raced.low >= std::min(1.0, options_.least_speedup);
  }

  void log(std::string_view line) const {
    if (options_.log) options_.log(line);
  }

  const Graph& model_;
  std::span<const Rule> rules_;
  Theory& theory_;
  Backend& backend_;
  const OptimizeModelOptions& options_;
  const Derivation base_;
};

}  // namespace

std::string_view name(SearchOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"not searched", "nothing found that is faster",
                                                      "what was found is not faster in the end", "faster"};
  return kNames[static_cast<size_t>(outcome)];
}

Result<OptimizedModel> optimize_model(const Graph& model, Derivation derivation, std::span<const Rule> rules,
                                      Theory& theory, Backend& backend, const OptimizeModelOptions& options) {
  return Optimizer(model, std::move(derivation), rules, theory, backend, options).run();
}

}  // namespace isomer
