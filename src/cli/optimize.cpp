// isomer optimize: ONNX in, the same function simplified and checked, ONNX out.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/version.h"
#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/passes/edit.h"
#include "graph/passes/pipeline.h"
#include "substitutions/derivation.h"
#include "util/output_file.h"
#include "verify/check.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options : CommonOptions {
  std::string input, output, report, proof;
  int level = 2;
  std::string fp = "reassociate";
  bool no_check = false;
  int runs = 2;
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

/// A folder beside the final place, so that files can be renamed into it; gone with everything left in it at the end.
class StagingFolder {
 public:
  static Result<StagingFolder> beside(const fs::path& place) {
    TRY_VOID(check_output_place(place));
    const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
    std::string pattern = (parent / ".isomer-XXXXXX").string();
    if (!mkdtemp(pattern.data())) return unsupported(place.string(), "a folder that can be written to expected");
    return StagingFolder(pattern);
  }
  StagingFolder(StagingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StagingFolder& operator=(StagingFolder&&) = delete;
  ~StagingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  /// Moves every file to the folder of `place`, the one of its name last: until then the old model stands.
  Result<void> release_to(const fs::path& place) const {
    std::error_code error;
    const fs::path target = place.has_parent_path() ? place.parent_path() : fs::path(".");
    for (const auto& entry : fs::directory_iterator(path_))
      if (entry.path().filename() != place.filename()) fs::rename(entry.path(), target / entry.path().filename(), error);
    if (!error) fs::rename(path_ / place.filename(), place, error);
    if (error) return unsupported(place.string(), "a place that can be written to expected, found: {}", error.message());
    return {};
  }

 private:
  explicit StagingFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

struct Outcome {
  StagingFolder staging;  ///< with the optimized model
  LoadedModel before, after;
  OptimizeReport passes;
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
  }
  return "";
}

Result<std::string> proof_text(const Options& options, const Graph& before, const Graph& after) {
  substitutions::Derivation derivation;
  TRY(derivation.dims, options.bound_dims());
  TRY(derivation.shapes, options.bound_shapes());
  derivation.level = options.level;
  derivation.fp = float_mode(options.fp);
  derivation.input = structural_hash(before);
  derivation.output = structural_hash(after);
  return print_derivation(derivation, verify::all_axioms());
}

Result<Outcome> optimize(const Options& options) {
  Stopwatch watch;
  TRY(LoadedModel before, load_model(options.input, options));
  TRY(StagingFolder staging, StagingFolder::beside(options.output));
  Outcome outcome{std::move(staging), std::move(before), {}, {}, {}, {}, {}};
  outcome.seconds["import"] = watch.lap();
  Graph graph = outcome.before.graph;
  OptimizeOptions passes;
  passes.level = options.level;
  passes.fp = float_mode(options.fp);
  passes.threads = options.thread_count();
  if (options.verbosity > 0) passes.log = [&](std::string_view line) { note(options, "{}", printable(line)); };
  TRY(outcome.passes, isomer::optimize(graph, passes));
  outcome.seconds["passes"] = watch.lap();
  if (!options.proof.empty()) {
    TRY(outcome.proof, proof_text(options, outcome.before.graph, graph));
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
      return Error{ErrorKind::kMismatch, options.input, "the optimized model differs, nothing is written: " + difference->text()};
  }
  return outcome;
}

json report_json(const Options& options, const Outcome& outcome) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  json steps = json::array();
  for (const OptimizeStep& step : outcome.passes.steps)
    steps.push_back({{"rule", step.rule}, {"where", step.where}, {"gain_us", nullptr}, {"fp_class", class_name(step.fp_class)}});
  json check = nullptr;
  if (outcome.check) {
    const Equivalence& result = outcome.check->equivalence;
    check = {{"runs", result.runs}, {"max_abs_error", number(result.max_abs_error)},
             {"max_error_over_bound", number(result.max_error_over_bound)}, {"passed", result.passed()},
             {"nodes_unchecked", outcome.check->nodes_unchecked}};
  }
  return {{"model", options.input},
          {"nodes_before", outcome.before.file.nodes},
          {"nodes_after", outcome.after.file.nodes},
          {"ops_before", outcome.before.file.operators},
          {"ops_after", outcome.after.file.operators},
          {"weights_mb_before", static_cast<double>(count_bytes(outcome.before.graph)) / 1e6},
          {"weights_mb_after", static_cast<double>(count_bytes(outcome.after.graph)) / 1e6},
          {"cost_before_us", nullptr},
          {"cost_after_us", nullptr},
          {"steps", steps},
          {"check", check},
          {"seconds", outcome.seconds},
          {"stop_reason", outcome.passes.stop_reason},
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
  fmt::print("{:<28} {:>10} {:>10}\n", "nodes", report["nodes_before"].get<int64_t>(), report["nodes_after"].get<int64_t>());
  fmt::print("{:<28} {:>10.3f} {:>10.3f}\n", "weights (MB)", report["weights_mb_before"].get<double>(), report["weights_mb_after"].get<double>());
  double seconds = 0;
  for (const auto& [phase, time] : report["seconds"].items()) seconds += time.get<double>();
  fmt::print("{:<28} {:>10} {:>10.2f}\n", "seconds", "", seconds);
  const json& check = report["check"];
  if (check.is_null()) {
    fmt::print("not checked (--no-check)\n");
    return;
  }
  fmt::print("checked on {} seeded inputs in double precision: largest difference {}, {} of what rounding allows\n", check["runs"].get<int>(),
             check["max_abs_error"].dump(), check["max_error_over_bound"].dump());
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
  for (const std::string& skipped : outcome.passes.skipped) note(options, "isomer: skipped {}", printable(skipped));
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
  command->add_option("--level,-O", options->level, "0: nothing; 1: bit-exact changes; 2: arithmetic folded too; 3: as 2")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  command->add_option("--fp", options->fp, "What may happen to rounding")
      ->check(CLI::IsMember({"strict", "reassociate", "fast"}))
      ->capture_default_str();
  command->add_flag("--no-check", options->no_check, "Do not run old and new side by side");
  command->add_option("--check-runs", options->runs, "Input sets of the check")->check(CLI::Range(1, 1000))->capture_default_str();
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
