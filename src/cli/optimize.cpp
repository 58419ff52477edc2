// isomer optimize: ONNX in, the same function simplified, searched and checked, ONNX out.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/check_json.h"
#include "cli/commands.h"
#include "cli/search_choices.h"
#include "cli/search_report.h"
#include "cli/staging_folder.h"
#include "cli/version.h"
#include "graph/edit.h"
#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/passes/pipeline.h"
#include "report/page.h"
#include "substitutions/print_proof.h"
#include "substitutions/proof_recorder.h"
#include "util/output_file.h"
#include "util/resident.h"
#include "util/stop.h"
#include "verify/check/check.h"

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

struct Outcome {
  StagingFolder staging;  ///< with the optimized model
  LoadedModel before, after;
  OptimizedModel made;
  std::optional<CheckReport> check;
  std::map<std::string, double> seconds;
  std::string proof;  ///< as its file has it
};

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
  derivation.fp = *float_mode(options.fp);
  derivation.keep_composites = options.search.backend != "isomer";
  return derivation;
}

constexpr double kLeastCheckSeconds = 1;

/// From the model to files that wait for their names.
class Run {
 public:
  Run(const Options& options, ProgressLine& progress) : options_(options), progress_(progress) {}

  Result<Outcome> optimized() {
    progress_.tell("reading");
    TRY(LoadedModel before, load_model(options_.input, options_));
    TRY(StagingFolder staging, StagingFolder::beside(options_.output));
    Outcome outcome{std::move(staging), std::move(before), {}, {}, {}, {}, {}};
    outcome.seconds["import"] = seconds_since(begin_);
    TRY(substitutions::Derivation derivation, derivation_of(options_));
    SearchSetting setting;
    setting.begin = begin_;
    setting.progress = &progress_;
    if (options_.no_check)
      setting.least_afterwards = 0;
    else {
      setting.check = [&](const OptimizedModel& made) { return difference(made, outcome); };
      setting.differ = [&](const Graph& one, const Graph& other) -> Result<bool> {
        TRY(const CheckReport report, check_same(one, other, check_options({})));
        return report.equivalence.difference.has_value();
      };
    }
    std::vector<std::string> unproved;
    for (bool is_done = false; !is_done;) {
      const auto start = Clock::now();
      const auto checking = [&] { return outcome.seconds["export"] + outcome.seconds["check"]; };
      const double checked = checking();
      TRY(outcome.made, options_.search.optimize(outcome.before, options_.input, derivation, options_, setting));
      outcome.seconds["optimize"] += seconds_since(start) - (checking() - checked);
      if (options_.no_check) TRY_VOID(write(outcome.made, outcome));
      TRY(is_done, prove(outcome, derivation, unproved));
    }
    outcome.made.left_out.insert(outcome.made.left_out.end(), unproved.begin(), unproved.end());
    return outcome;
  }

 private:
  /// The check may take as long as the rest did where the command's time allows it, and a second in any case.
  CheckOptions check_options(const OptimizedModel& made) const {
    const double passed = seconds_since(begin_);
    const double left = made.seconds > 0 ? std::min(passed, made.seconds - passed) : passed;
    return {.seed = options_.seed,
            .runs = options_.runs,
            .threads = options_.thread_count(),
            .seconds = std::max(kLeastCheckSeconds, left),
            .memory = options_.memory_limit()};
  }

  /// Writes the proof, where one is asked for. False where a pass made a change of which it finds none: the derivation
  /// is without that pass then.
  Result<bool> prove(Outcome& outcome, substitutions::Derivation& derivation,
                     std::vector<std::string>& unproved) const {
    if (options_.proof.empty()) return true;
    progress_.tell("writing the proof");
    const auto begin = Clock::now();
    substitutions::Theory theory;
    auto proof = proof_of(outcome.before.graph, outcome.made.derivation, outcome.after.graph, theory);
    if (!proof.ok()) {
      const Error error = std::move(proof).error();
      std::vector<std::string>& without = derivation.without;
      const bool is_new = std::find(without.begin(), without.end(), error.where) == without.end();
      if (error.kind != ErrorKind::kMismatch || !is_new || !is_pass(error.where)) return error;
      without.push_back(error.where);
      unproved.push_back(error.message());
      return false;
    }
    TRY(outcome.proof, print_proof(*proof, theory.axioms()));
    outcome.seconds["proof"] += seconds_since(begin);
    return true;
  }

  /// To a file that is read again.
  Result<void> write(const OptimizedModel& made, Outcome& outcome) const {
    progress_.tell("writing");
    const auto start = Clock::now();
    const fs::path staged = outcome.staging.path() / fs::path(options_.output).filename();
    TRY_VOID(export_model(made.derived.graph, staged));
    CommonOptions as_written = options_;
    as_written.dims.clear();
    as_written.input_shapes.clear();
    TRY(outcome.after, load_model(staged.string(), as_written));
    outcome.seconds["export"] += seconds_since(start);
    return {};
  }

  /// What is checked is what was written, read again.
  Result<std::optional<std::string>> difference(const OptimizedModel& made, Outcome& outcome) const {
    TRY_VOID(write(made, outcome));
    progress_.tell("checking the result against the model");
    const auto start = Clock::now();
    TRY(outcome.check, check_same(outcome.before.graph, outcome.after.graph, check_options(made)));
    outcome.seconds["check"] += seconds_since(start);
    const auto& found = outcome.check->equivalence.difference;
    return found ? std::optional(found->text()) : std::nullopt;
  }

  const Options& options_;
  ProgressLine& progress_;
  const Clock::time_point begin_ = Clock::now();
};

json report_json(const Options& options, const Outcome& outcome) {
  const auto& raced = outcome.made.raced;
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
  return {{"model", options.input},
          {"for", options.search.backend},
          {"nodes_before", outcome.before.file.nodes},
          {"nodes_after", outcome.after.file.nodes},
          {"ops_before", outcome.before.file.operators},
          {"ops_after", outcome.after.file.operators},
          {"weights_mb_before", static_cast<double>(count_bytes(outcome.before.graph)) / 1e6},
          {"weights_mb_after", static_cast<double>(count_bytes(outcome.after.graph)) / 1e6},
          {"cost_before_us", raced ? json(raced->first) : json(nullptr)},
          {"cost_after_us", raced ? json(raced->second) : json(nullptr)},
          {"steps", steps},
          {"search", search_json(outcome.made)},
          {"check", outcome.check ? check_json(*outcome.check) : json(nullptr)},
          {"seconds", outcome.seconds},
          {"peak_memory_mb", static_cast<double>(peak_resident_bytes()) / 1e6},
          {"stop_reason", outcome.made.found ? json(name(outcome.made.found->stop)) : json(derived.before.stop_reason)},
          {"seed", options.seed},
          {"version", version_text()}};
}

/// As a page where the file's name says so, else as JSON.
std::string report_text(const Options& options, const Outcome& outcome, const json& facts) {
  if (!options.report.ends_with(".html")) return json_text(facts, 2) + "\n";
  report::PageInput input{fs::path(options.input).filename().string(), &outcome.before.graph, &outcome.after.graph, {}};
  for (const substitutions::Rule& rule : outcome.made.derivation.rules)
    input.rules.push_back({rule.name, rule.text(), std::string(name(rule.float_class))});
  return report::page(input, facts);
}

std::string_view purpose(const std::string& backend) {
  if (backend == "isomer")
    return "for Isomer's own kernels: other runtimes may be slower with it ('--for any' for a file that is not)";
  if (backend == "onnxruntime") return "for ONNX Runtime";
  return "for any runtime: no step adds arithmetic, memory traffic, nodes or weights";
}

void print_table(const Options& options, const Outcome& outcome, const json& report) {
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
  fmt::print("written {}\n", purpose(options.search.backend));
  for (const std::string& line : search_lines(outcome.made)) fmt::print("{}\n", line);
  if (!outcome.check) fmt::print("not checked (--no-check)\n");
  for (const std::string& line : outcome.check ? outcome.check->lines() : std::vector<std::string>())
    fmt::print("{}\n", printable(line));
  double seconds = 0;
  std::string phases;
  for (const auto& [phase, time] : outcome.seconds) {
    seconds += time;
    phases += fmt::format("{}{} {:.1f}", phases.empty() ? "" : ", ", phase, time);
  }
  fmt::print("took: {:.1f} s ({}), at most {:.0f} MB\n", seconds, phases, report["peak_memory_mb"].get<double>());
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
Result<ExitCode> run(const Options& options) {
  const StopsInOrder stops;
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(std::optional<OutputFile> proof_file, file_for(options.proof));
  std::optional<ProgressLine> progress(std::in_place, options);
  TRY(const Outcome outcome, Run(options, *progress).optimized());
  progress.reset();
  const json report = report_json(options, outcome);
  TRY_VOID(write(report_text(options, outcome, report), report_file));
  TRY_VOID(write(outcome.proof, proof_file));
  TRY_VOID(outcome.staging.release_to(options.output));
  if (report_file) TRY_VOID(report_file->commit());
  if (proof_file) TRY_VOID(proof_file->commit());
  for (const std::string& skipped : outcome.made.derived.before.skipped)
    note(options, "isomer: skipped {}", printable(skipped));
  for (const std::string& left_out : outcome.made.left_out) note(options, "isomer: left out {}", printable(left_out));
  if (outcome.check) warn_of_what_was_set_aside(options, outcome.check->equivalence);
  if (options.json)
    fmt::print("{}\n", json_text(report));
  else if (!options.quiet)
    print_table(options, outcome, report);
  if (!outcome.made.found || outcome.made.found->stop != StopReason::kInterrupted) return kDone;
  note(options, "isomer: interrupted: what had been found until then is written");
  return kStopped;
}

}  // namespace

void add_optimize(CLI::App& app, int& exit) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("optimize", "Make a model faster; ONNX in, ONNX out, checked");
  command->add_option("IN", options->input, "The model")->required();
  command->add_option("-o,--output", options->output, "The optimized model")->required();
  command->add_option("--report", options->report,
                      "Write what was done: as JSON, or, to FILE.html, as a page to look at");
  command->add_option("--proof", options->proof, "Write how it was made, for isomer verify");
  command
      ->add_option(
          "--level,-O", options->level,
          "0: nothing; 1: bit-exact changes; 2: arithmetic folded too; 3: searched over proved rules and measured too")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  command
      ->add_option(
          "--fp", options->fp,
          "What may happen to rounding: strict: nothing, every bit as a runtime has it that runs one node after the "
          "other; reassociate: what is equal in the reals on finite values; fast: overflow may lose results, too")
      ->check(is_float_mode())
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
    exit = done.ok() ? *done : report(done.error());
  });
}

}  // namespace isomer::cli
