#include "driver/search_choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/find_library.h"
#include "backends/onnxruntime_backend.h"
#include "driver/open_records.h"
#include "driver/rules_of_files.h"
#include "graph/edit.h"
#include "measure/kernel_clock.h"
#include "substitutions/library/rule_names.h"
#include "substitutions/library/shipped.h"
#include "substitutions/mutate/mutants.h"

namespace isomer {
namespace {

using namespace substitutions;

/// Rules of the files, or those that come with the program; then the laws themselves.
Result<std::vector<Rule>> all_rules(const std::vector<std::string>& files,
                                    std::span<const verify::StatedAxiom> axioms) {
  TRY(std::vector<Rule> rules, rules_of_files(files, axioms));
  for (Rule& law : rules_of_laws(axioms)) rules.push_back(std::move(law));
  return rules;
}

/// Mutants of the model's own convolutions.
Result<void> add_mutants(const Graph& model, const Settings& settings, const search::SearchModelOptions& search,
                         std::vector<Rule>& rules) {
  constexpr int kOperators = 8;
  constexpr double kMostSeconds = 30, kShare = 0.2;
  if (search.progress) search.progress("looking for mutants", std::nullopt);
  const double seconds = search.seconds ? std::min(kMostSeconds, kShare * *search.seconds) : kMostSeconds;
  MutantOptions how{.max_operators = kOperators, .threads = settings.threads, .seed = settings.seed, .trials = 0};
  how.known = rules;
  how.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  TRY(Mutants found, mutants(originals_of(model), how));
  const std::string found_text =
      fmt::format("{} mutants that no rule says, of {} programs tried", found.rules.size(), found.statistics.tried);
  if (!found.statistics.is_complete)
    settings.messages.say(fmt::format("--mutate: {} when its {:.1f} s were over", found_text, seconds));
  else if (search.log)
    search.log(found_text);
  std::ranges::move(found.rules, std::back_inserter(rules));
  return {};
}

}  // namespace

Result<std::unique_ptr<search::Backend>> SearchChoices::open_backend(const Graph& model, const std::string& file,
                                                                     const Settings& settings,
                                                                     kernel::Records& records) const {
  if (backend == "isomer") {
    search::CompileOptions compile;
    compile.target = kernel::host_target();
    compile.threads = settings.threads;
    compile.seed = settings.seed;
    compile.memory = settings.memory;
    return std::unique_ptr<search::Backend>(
        std::make_unique<search::CompilingBackend>(compile, weights_in_model(count_bytes(model)), records));
  }
  const std::string library = backends::find(backends::onnxruntime_library(), onnxruntime);
  std::unique_ptr<search::Backend> runtime;
  if (!library.empty())
    runtime = std::make_unique<backends::OnnxRuntimeBackend>(library, file, settings.threads, records);
  if (backend == "any")
    return std::unique_ptr<search::Backend>(std::make_unique<search::AnyBackend>(std::move(runtime)));
  if (!runtime)
    return unsupported("--for", "ONNX Runtime expected, none found; name its shared library with --onnxruntime");
  return runtime;
}

Result<search::OptimizedModel> SearchChoices::optimize(const LoadedModel& model, const std::string& file,
                                                       Derivation derivation, const Settings& settings,
                                                       const SearchSetting& setting) const {
  search::SearchModelOptions search;
  search.seconds = seconds;
  search.search.strategy = strategy == "beam"         ? search::Strategy::kBeam
                           : strategy == "best-first" ? search::Strategy::kBestFirst
                                                      : search::Strategy::kEGraph;
  search.search.limits.width = width;
  search.search.limits.alpha = alpha;
  search.search.limits.steps = steps;
  if (backend == "any") {
    search.search.least_work = true;
    search.search.most_growth = 0;
    search.search.small_growth = 0;
  }
  search.least_speedup = min_speedup;
  search.seed = settings.seed;
  search.threads = settings.threads;
  search.memory = settings.memory;
  search.begin = setting.begin;
  search.least_afterwards = setting.least_afterwards;
  search.kept = setting.kept;
  search.check = setting.check;
  search.differ = setting.differ;
  search.judge = setting.judge;
  search.search.limits.alternatives = setting.alternatives;
  search.progress = settings.messages.doing;
  search.log = settings.messages.detail;
  Theory theory;
  std::vector<Rule> all;
  auto known = kernel::Records::in_memory();
  std::unique_ptr<search::Backend> opened = std::make_unique<search::AnyBackend>(nullptr);
  if (derivation.level >= search::kSearchLevel) {
    TRY(all, all_rules(rules, theory.axioms()));
    if (mutate) TRY_VOID(add_mutants(model.graph, settings, search, all));
    // Steps and proofs know rules by name, those of normalization, too.
    tell_apart(all, normalizing_rules(theory.axioms()).rules, theory.axioms());
    // Work that is counted needs no records.
    if (backend != "any" || !records.empty()) {
      TRY(known, open_records(records));
    }
    TRY(opened, open_backend(model.graph, file, settings, known));
  }
  auto made = optimize_model(model.graph, std::move(derivation), all, theory, *opened, search);
  if (!made.ok()) return std::move(made).error().within(file);
  return made;
}

}  // namespace isomer
