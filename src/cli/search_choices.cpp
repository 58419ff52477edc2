#include "cli/search_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "backends/find_library.h"
#include "cli/onnxruntime.h"
#include "cli/onnxruntime_backend.h"
#include "cli/open_records.h"
#include "graph/edit.h"
#include "measure/kernel_clock.h"
#include "substitutions/mutate/mutants.h"
#include "substitutions/shipped.h"

namespace isomer::cli {
namespace {

using namespace substitutions;

/// Rules of the files, or those that come with the program; then the laws themselves.
Result<std::vector<Rule>> all_rules(const std::vector<std::string>& files,
                                    std::span<const verify::StatedAxiom> axioms) {
  std::vector<Rule> rules;
  const auto take = [&](RulesFile file) {
    rules.insert(rules.end(), std::make_move_iterator(file.rules.begin()), std::make_move_iterator(file.rules.end()));
  };
  for (const std::string& file : files) {
    auto read = read_rules(file, axioms);
    if (!read.ok()) return std::move(read).error().within(file);
    take(std::move(*read));
  }
  if (files.empty())
    for (RulesFile& file : shipped_rules(axioms)) take(std::move(file));
  for (Rule& law : rules_of_laws(axioms)) rules.push_back(std::move(law));
  return rules;
}

/// Mutants of the model's own convolutions.
Result<void> add_mutants(const Graph& model, const CommonOptions& options, const OptimizeModelOptions& search,
                         std::vector<Rule>& rules) {
  constexpr int kOperators = 8;
  constexpr double kMostSeconds = 30, kShare = 0.2;
  if (search.progress) search.progress("looking for mutants", std::nullopt);
  const double seconds = search.seconds ? std::min(kMostSeconds, kShare * *search.seconds) : kMostSeconds;
  MutantOptions how{.max_operators = kOperators, .threads = options.thread_count(), .seed = options.seed, .trials = 0};
  how.known = rules;
  how.until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  TRY(Mutants found, mutants(originals_of(model), how));
  if (search.log)
    search.log(
        fmt::format("{} mutants that no rule says, of {} programs tried", found.rules.size(), found.statistics.tried));
  std::ranges::move(found.rules, std::back_inserter(rules));
  return {};
}

}  // namespace

Result<double> parse_duration(const std::string& flag, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::map<std::string, double> units = {{"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
  const auto unit = units.find(std::string(end, text.data() + text.size()));
  if (error != std::errc() || unit == units.end() || !(number >= 0) || number > 1e9)
    return Error{ErrorKind::kUsage, flag, "a time such as 90, 60s, 10min or 1h expected, '" + text + "' found"};
  return number * unit->second;
}

void SearchChoices::add_to(CLI::App& app) {
  app.add_option("--strategy", strategy, "Of the search: beam, best-first or e-graph")
      ->check(CLI::IsMember({"beam", "best-first", "e-graph"}))
      ->capture_default_str();
  app.add_option(
      "--time", time,
      "Of the whole command: 90, 60s, 10min (default: 2 to 60 s, more for a model that takes longer to run)");
  add_records_option(app, records);
  app.add_option(
         "--rules", rules,
         "Rules to search over (STEM.rules, STEM.proofs) instead of those that come with the program; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--mutate", mutate,
               "Look for mutants of the model's own convolutions, too, that no rule says; their proofs are part of the "
               "model's");
  app.add_option("--width", width, "States that a beam keeps")->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--alpha", alpha, "What costs up to so many times the best is worth going on from")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  app.add_option("--min-speedup", min_speedup,
                 "What was found is taken where it is so many times as fast as without, measured end to end; 0: "
                 "whatever is measured")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  app.add_option("--max-steps", steps, "Rewrites of a region in a row")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
}

void SearchChoices::add_backend_to(CLI::App& app) {
  backend = "any";
  app.add_option(
         "--for", backend,
         "What the model is to be fast in. any: only what is no more work wherever it runs, raced in ONNX "
         "Runtime where one is found; onnxruntime: what is faster there; isomer: what is faster in Isomer's own "
         "kernels, and may be slower elsewhere")
      ->check(CLI::IsMember({"any", "onnxruntime", "isomer"}))
      ->capture_default_str();
  app.add_option("--onnxruntime", onnxruntime, "ONNX Runtime's shared library");
}

Result<std::unique_ptr<Backend>> SearchChoices::open_backend(const Graph& model, const std::string& file,
                                                             const CommonOptions& options,
                                                             kernel::Records& records) const {
  if (backend == "isomer") {
    CompileOptions compile;
    compile.target = kernel::host_target();
    compile.threads = options.thread_count();
    compile.seed = options.seed;
    compile.memory = options.memory_limit();
    return std::unique_ptr<Backend>(
        std::make_unique<CompilingBackend>(compile, weights_in_model(count_bytes(model)), records));
  }
  const std::string library = backends::find(backends::onnxruntime(), onnxruntime);
  std::unique_ptr<Backend> runtime;
  if (!library.empty()) runtime = std::make_unique<OnnxRuntimeBackend>(library, file, options.thread_count(), records);
  if (backend == "any") return std::unique_ptr<Backend>(std::make_unique<AnyBackend>(std::move(runtime)));
  if (!runtime)
    return unsupported("--for", "ONNX Runtime expected, none found; name its shared library with --onnxruntime");
  return runtime;
}

Result<OptimizedModel> SearchChoices::optimize(const LoadedModel& model, const std::string& file, Derivation derivation,
                                               const CommonOptions& options, const SearchSetting& setting) const {
  OptimizeModelOptions search;
  if (!time.empty()) {
    TRY(search.seconds, parse_duration("--time", time));
  }
  search.search.strategy = strategy == "beam"         ? Strategy::kBeam
                           : strategy == "best-first" ? Strategy::kBestFirst
                                                      : Strategy::kEGraph;
  search.search.limits.width = width;
  search.search.limits.alpha = alpha;
  search.search.limits.steps = steps;
  if (backend == "any") {
    search.search.least_work = true;
    search.search.most_growth = 0;
    search.search.small_growth = 0;
  }
  search.least_speedup = min_speedup;
  search.seed = options.seed;
  search.threads = options.thread_count();
  search.memory = options.memory_limit();
  search.begin = setting.begin;
  search.least_afterwards = setting.least_afterwards;
  search.kept = setting.kept;
  search.check = setting.check;
  search.differ = setting.differ;
  search.judge = setting.judge;
  search.search.limits.alternatives = setting.alternatives;
  ProgressLine* const progress = setting.progress;
  if (progress) search.progress = [=](std::string_view what, auto seconds_left) { progress->tell(what, seconds_left); };
  if (options.verbosity > 0)
    search.log = [&, progress](std::string_view line) {
      progress ? progress->note(line) : note(options, "{}", printable(line));
    };
  Theory theory;
  std::vector<Rule> all;
  auto known = kernel::Records::in_memory();
  std::unique_ptr<Backend> opened = std::make_unique<AnyBackend>(nullptr);
  if (derivation.level >= kSearchLevel) {
    TRY(all, all_rules(rules, theory.axioms()));
    if (mutate) TRY_VOID(add_mutants(model.graph, options, search, all));
    // Work that is counted needs no records.
    if (backend != "any" || !records.empty()) {
      TRY(known, open_records(records));
    }
    TRY(opened, open_backend(model.graph, file, options, known));
  }
  auto made = optimize_model(model.graph, std::move(derivation), all, theory, *opened, search);
  if (!made.ok()) return std::move(made).error().within(file);
  return made;
}

}  // namespace isomer::cli
