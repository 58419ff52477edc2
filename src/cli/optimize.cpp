// isomer optimize: ONNX in, the same function simplified and checked, ONNX out.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/search_choices.h"
#include "cli/staging_folder.h"
#include "cli/version.h"
#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/passes/edit.h"
#include "substitutions/blame.h"
#include "util/output_file.h"
#include "verify/check.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options : CommonOptions {
  std::string input, output, report, proof;
  int level = 3;
  std::string fp = "reassociate";
  bool no_check = false;
  int runs = 2;
  SearchChoices search;
};

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct Outcome {
  StagingFolder staging;  ///< with the optimized model
  LoadedModel before, after;
  OptimizedModel made;
  std::optional<CheckReport> check;
  std::map<std::string, double> seconds;
  std::string proof;  ///< as its file has it
};

FloatMode float_mode(const std::string& name) {
  return name == "strict" ? FloatMode::kStrict : name == "fast" ? FloatMode::kFast : FloatMode::kReassociate;
}

std::string_view class_name(FloatClass fp_class) {
  switch (fp_class) {
    case FloatClass::kExact: return "exact";
    case FloatClass::kSignOfZero: return "sign of zero";
    case FloatClass::kFinite: return "finite";
    case FloatClass::kReassociated: return "reassociated";
    case FloatClass::kUnsafe: return "unsafe";
  }
  return "";
}

Result<substitutions::Derivation> derivation_of(const Options& options) {
  substitutions::Derivation derivation;
  TRY(derivation.dims, options.bound_dims());
  TRY(derivation.shapes, options.bound_shapes());
  derivation.level = options.level;
  derivation.fp = float_mode(options.fp);
  return derivation;
}

/// Which step it was, and a pair of models beside the output that shows it.
std::string blamed(const Options& options, const Outcome& outcome) {
  const CheckOptions check{.seed = options.seed, .runs = options.runs, .threads = options.thread_count()};
  const auto differ = [&](const Graph& before, const Graph& after) -> Result<bool> {
    TRY(const CheckReport report, check_same(before, after, check));
    return report.equivalence.difference.has_value();
  };
  substitutions::Theory theory;
  const auto found = substitutions::blame(outcome.before.graph, outcome.made.derivation, theory, differ);
  if (!found.ok()) return "; which step it was is not known: " + found.error().message();
  if (!*found) return "; no step of the optimization does, so it is the file that was written";
  std::string text = fmt::format("; {} is the first after which it does", (*found)->what);
  for (const auto& [graph, ending] :
       {std::pair(&(*found)->before, ".before.onnx"), std::pair(&(*found)->after, ".after.onnx")}) {
    const std::string file = options.output + ending;
    const auto written = export_model(*graph, file);
    text += written.ok() ? fmt::format(", {}", file) : "; " + written.error().message();
  }
  return text;
}

Result<Outcome> optimize(const Options& options) {
  Stopwatch watch;
  TRY(LoadedModel before, load_model(options.input, options));
  TRY(StagingFolder staging, StagingFolder::beside(options.output));
  TRY(substitutions::Derivation derivation, derivation_of(options));
  const double import_seconds = watch.lap();
  TRY(OptimizedModel made, options.search.optimize(before, options.input, std::move(derivation), options));
  Outcome outcome{std::move(staging), std::move(before), {}, std::move(made), {}, {}, {}};
  const Graph& graph = outcome.made.derived.graph;
  outcome.seconds = {{"import", import_seconds}, {"optimize", watch.lap()}};
  if (!options.proof.empty()) {
    substitutions::Derivation proof = outcome.made.derivation;
    proof.input = structural_hash(outcome.before.graph);
    proof.output = structural_hash(graph);
    TRY(outcome.proof, print_derivation(proof, verify::all_axioms()));
  }
  const fs::path staged = outcome.staging.path() / fs::path(options.output).filename();
  TRY_VOID(export_model(graph, staged));
  outcome.seconds["export"] = watch.lap();
  // What is checked is what was written, read again.
  CommonOptions as_written = options;
  as_written.dims.clear();
  as_written.input_shapes.clear();
  TRY(outcome.after, load_model(staged.string(), as_written));
  if (!options.no_check) {
    TRY(outcome.check, check_same(outcome.before.graph, outcome.after.graph,
                                  {.seed = options.seed, .runs = options.runs, .threads = options.thread_count()}));
    outcome.seconds["check"] = watch.lap();
    if (const auto& difference = outcome.check->equivalence.difference)
      return Error{ErrorKind::kMismatch, options.input,
                   "the optimized model differs, nothing is written: " + difference->text() + blamed(options, outcome)};
  }
  return outcome;
}

/// What was tried, what came of it.
json search_json(const OptimizedModel& made) {
  json result = {{"outcome", name(made.outcome)}};
  if (made.found) {
    const SearchStatistics& statistics = made.found->statistics;
    json gains = json::array();
    for (const Gain& gain : made.found->gains)
      gains.push_back({{"saved_us", gain.saved}, {"steps", gain.steps.size()}});
    json singles = json::array();
    for (const SingleStep& single : made.found->singles)
      singles.push_back(
          {{"rule", single.rule}, {"where", single.where}, {"places", single.places}, {"saved_us", single.saved}});
    result["best_single_steps"] = std::move(singles);
    result.update({{"cost_before_us", made.found->cost_before},
                   {"gains", gains},
                   {"regions", made.found->regions},
                   {"regions_searched", made.found->regions_searched},
                   {"stop_reason", name(made.found->stop)},
                   {"matches", statistics.matches},
                   {"rewrites", statistics.applied},
                   {"refused", statistics.refused},
                   {"seen_before", statistics.seen},
                   {"costed", statistics.costed},
                   {"measured", statistics.measured},
                   {"expanded", statistics.expanded},
                   {"deepest", statistics.deepest}});
  }
  if (made.raced)
    result["race"] = {{"before_us", made.raced->first}, {"after_us", made.raced->second},
                      {"ratio", made.raced->ratio},     {"low", made.raced->low},
                      {"high", made.raced->high},       {"rounds", made.raced->rounds}};
  return result;
}

json report_json(const Options& options, const Outcome& outcome) {
  const auto& raced = outcome.made.raced;
  const bool is_faster = outcome.made.outcome == SearchOutcome::kFaster;
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  json steps = json::array();
  const auto add = [&](const OptimizeStep& step, json gain) {
    steps.push_back({{"rule", step.rule},
                     {"where", step.where},
                     {"gain_us", std::move(gain)},
                     {"fp_class", class_name(step.fp_class)}});
  };
  const substitutions::Derived& derived = outcome.made.derived;
  for (const OptimizeStep& step : derived.before.steps) add(step, nullptr);
  for (size_t k = 0; k < derived.steps.size(); ++k) add(derived.steps[k], outcome.made.gains[k]);
  for (const OptimizeStep& step : derived.after.steps) add(step, nullptr);
  json check = nullptr;
  if (outcome.check) {
    const Equivalence& result = outcome.check->equivalence;
    check = {{"runs", result.runs},
             {"max_abs_error", number(result.max_abs_error)},
             {"max_error_over_bound", number(result.max_error_over_bound)},
             {"passed", result.passed()},
             {"nodes_unchecked", outcome.check->nodes_unchecked}};
  }
  return {{"model", options.input},
          {"nodes_before", outcome.before.file.nodes},
          {"nodes_after", outcome.after.file.nodes},
          {"ops_before", outcome.before.file.operators},
          {"ops_after", outcome.after.file.operators},
          {"weights_mb_before", static_cast<double>(count_bytes(outcome.before.graph)) / 1e6},
          {"weights_mb_after", static_cast<double>(count_bytes(outcome.after.graph)) / 1e6},
          {"cost_before_us", raced ? json(raced->first) : json(nullptr)},
          {"cost_after_us", raced ? json(is_faster ? raced->second : raced->first) : json(nullptr)},
          {"steps", steps},
          {"search", search_json(outcome.made)},
          {"check", check},
          {"seconds", outcome.seconds},
          {"stop_reason", outcome.made.found ? json(name(outcome.made.found->stop)) : json(derived.before.stop_reason)},
          {"seed", options.seed},
          {"version", version_text()}};
}

void print_table(const json& report) {
  fmt::print("{:<28} {:>10} {:>10}\n", "operator", "before", "after");
  std::map<std::string, std::pair<int64_t, int64_t>> rows;
  for (const auto& [op, count] : report["ops_before"].items()) rows[op].first = count;
  for (const auto& [op, count] : report["ops_after"].items()) rows[op].second = count;
  const auto count_text = [](int64_t count) { return count == 0 ? std::string("-") : fmt::format("{}", count); };
  for (const auto& [op, counts] : rows)
    fmt::print("{:<28} {:>10} {:>10}\n", printable(op), count_text(counts.first), count_text(counts.second));
  fmt::print("{:<28} {:>10} {:>10}\n", "nodes", report["nodes_before"].get<int64_t>(),
             report["nodes_after"].get<int64_t>());
  fmt::print("{:<28} {:>10.3f} {:>10.3f}\n", "weights (MB)", report["weights_mb_before"].get<double>(),
             report["weights_mb_after"].get<double>());
  double seconds = 0;
  for (const auto& [phase, time] : report["seconds"].items()) seconds += time.get<double>();
  fmt::print("{:<28} {:>10} {:>10.2f}\n", "seconds", "", seconds);
  const json& check = report["check"];
  if (check.is_null()) {
    fmt::print("not checked (--no-check)\n");
    return;
  }
  fmt::print("checked on {} seeded inputs in double precision: largest difference {}, {} of what rounding allows\n",
             check["runs"].get<int>(), check["max_abs_error"].dump(), check["max_error_over_bound"].dump());
  if (const int unchecked = check["nodes_unchecked"]; unchecked > 0)
    fmt::print("{} nodes cannot be run here and were not checked: they are as they were\n", unchecked);
}

Result<std::optional<OutputFile>> file_for(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  TRY(OutputFile file, OutputFile::create(path));
  return std::optional(std::move(file));
}

Result<void> write(std::string_view text, std::optional<OutputFile>& file) {
  if (!file) return {};
  TRY_VOID(file->write(text));
  return file->sync();
}

/// Model, report and proof get their names when all are written.
Result<void> run(const Options& options) {
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(std::optional<OutputFile> proof_file, file_for(options.proof));
  TRY(const Outcome outcome, optimize(options));
  const json report = report_json(options, outcome);
  TRY_VOID(write(json_text(report, 2) + "\n", report_file));
  TRY_VOID(write(outcome.proof, proof_file));
  TRY_VOID(outcome.staging.release_to(options.output));
  if (report_file) TRY_VOID(report_file->commit());
  if (proof_file) TRY_VOID(proof_file->commit());
  for (const std::string& skipped : outcome.made.derived.before.skipped)
    note(options, "isomer: skipped {}", printable(skipped));
  if (options.json)
    fmt::print("{}\n", json_text(report));
  else if (!options.quiet)
    print_table(report);
  return {};
}

}  // namespace

void add_optimize(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("optimize", "Simplify a model; ONNX in, ONNX out, checked");
  command->add_option("IN", options->input, "The model")->required();
  command->add_option("-o,--output", options->output, "The optimized model")->required();
  command->add_option("--report", options->report, "Write what was done as JSON");
  command->add_option("--proof", options->proof, "Write how it was made, for isomer verify");
  command
      ->add_option("--level,-O", options->level,
                   "0: nothing; 1: bit-exact changes; 2: arithmetic folded too; 3: searched over proved rules too")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  command->add_option("--fp", options->fp, "What may happen to rounding")
      ->check(CLI::IsMember({"strict", "reassociate", "fast"}))
      ->capture_default_str();
  command->add_flag("--no-check", options->no_check, "Do not run old and new side by side");
  command->add_option("--check-runs", options->runs, "Input sets of the check")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options->search.add_to(*command);
  options->search.add_backend_to(*command);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
