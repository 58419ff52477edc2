#include "cli/search_choices.h"

#include <charconv>
#include <map>

#include "cli/onnxruntime.h"
#include "cli/onnxruntime_backend.h"
#include "cli/open_records.h"
#include "graph/passes/edit.h"
#include "search/kernel_clock.h"
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
  app.add_option("--time", time, "At most, of the search: 90, 60s, 10min")->capture_default_str();
  add_records_option(app, records);
  app.add_option(
         "--rules", rules,
         "Rules to search over (STEM.rules, STEM.proofs) instead of those that come with the program; repeatable")
      ->allow_extra_args(false);
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
  app.add_option("--for", backend, "What the model is to be fast in: isomer's own code or onnxruntime")
      ->check(CLI::IsMember({"isomer", "onnxruntime"}))
      ->capture_default_str();
  app.add_option("--onnxruntime", onnxruntime, "ONNX Runtime's shared library");
}

Result<std::unique_ptr<Backend>> SearchChoices::open_backend(const Graph& model, const CommonOptions& options,
                                                             kernel::Records& records) const {
  if (backend == "onnxruntime") {
    const std::string library = find_onnxruntime(onnxruntime);
    if (library.empty())
      return unsupported("--for", "ONNX Runtime expected, none found; name its shared library with --onnxruntime");
    return std::unique_ptr<Backend>(std::make_unique<OnnxRuntimeBackend>(library, options.thread_count(), records));
  }
  CompileOptions compile;
  compile.target = kernel::host_target();
  compile.threads = options.thread_count();
  compile.seed = options.seed;
  return std::unique_ptr<Backend>(
      std::make_unique<CompilingBackend>(compile, weights_in_model(count_bytes(model)), records));
}

Result<OptimizedModel> SearchChoices::optimize(const LoadedModel& model, const std::string& file, Derivation derivation,
                                               const CommonOptions& options) const {
  OptimizeModelOptions search;
  TRY(search.search.limits.seconds, parse_duration("--time", time));
  search.search.strategy = strategy == "beam"         ? Strategy::kBeam
                           : strategy == "best-first" ? Strategy::kBestFirst
                                                      : Strategy::kEGraph;
  search.search.limits.width = width;
  search.search.limits.alpha = alpha;
  search.search.limits.steps = steps;
  search.least_speedup = min_speedup;
  search.seed = options.seed;
  search.threads = options.thread_count();
  if (options.verbosity > 0) search.log = [&](std::string_view line) { note(options, "{}", printable(line)); };
  Theory theory;
  const auto in_file = [&](Error error) { return std::move(error).within(file); };
  if (derivation.level < kSearchLevel) {
    auto made = derived(model.graph, derivation, theory, {search.threads, search.log});
    if (!made.ok()) return in_file(std::move(made).error());
    return OptimizedModel{std::move(derivation), *std::move(made), {}, SearchOutcome::kPasses, std::nullopt, {},
                          std::nullopt};
  }
  TRY(const std::vector<Rule> all, all_rules(rules, theory.axioms()));
  TRY(kernel::Records known, open_records(records));
  TRY(const std::unique_ptr<Backend> backend, open_backend(model.graph, options, known));
  auto made = optimize_model(model.graph, std::move(derivation), all, theory, *backend, search);
  if (!made.ok()) return in_file(std::move(made).error());
  for (const std::string& refused : made->refused) note(options, "isomer: left out: {}", printable(refused));
  return made;
}

}  // namespace isomer::cli
