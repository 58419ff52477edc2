// isomer optimize: ONNX in, the same function simplified, searched and checked, ONNX out.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/check_notes.h"
#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/report_file.h"
#include "cli/search_options.h"
#include "cli/search_report.h"
#include "cli/settings.h"
#include "driver/optimize.h"
#include "driver/staging_folder.h"
#include "search/cost/work.h"
#include "util/append.h"
#include "util/output_file.h"
#include "util/stop.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options : CommonOptions {
  std::string input, output, report, proof;
  std::string fp = "reassociate";
  bool no_check = false;
  OptimizeChoices choices;

  OptimizeChoices chosen() const {
    OptimizeChoices result = choices;
    result.fp = *float_mode(fp);
    result.has_check = !no_check;
    result.has_proof = !proof.empty();
    return result;
  }
  /// That are written with the model.
  std::vector<fs::path> besides() const {
    std::vector<fs::path> files;
    for (const std::string* file : {&report, &proof, &choices.search.records})
      if (!file->empty()) files.emplace_back(*file);
    return files;
  }
};

std::string_view purpose(const std::string& backend) {
  if (backend == "isomer")
    return "for Isomer's own kernels: other runtimes may be slower with it ('--for any' for a file that is not)";
  if (backend == "onnxruntime") return "for ONNX Runtime";
  return "for any runtime: no step of the search adds arithmetic, memory traffic, nodes or weights";
}

/// Parameters such as axes aside.
bool has_more_weights(const OptimizedFile& outcome) {
  const auto before = search::work_of(outcome.before.graph, search::Folded::kHeld),
             after = search::work_of(outcome.after.graph, search::Folded::kHeld);
  return before.ok() && after.ok() && after->weight_bytes > before->weight_bytes;
}

void print_table(const Options& options, const OptimizedFile& outcome, const json& report) {
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
  fmt::print("written {}\n", purpose(options.choices.search.backend));
  if (options.choices.search.backend == "any" && report["nodes_after"] > report["nodes_before"])
    fmt::print("more nodes than before: reading writes out functions, and some operators that old opsets had\n");
  if (options.choices.search.backend == "any" && has_more_weights(outcome))
    fmt::print("more weights than before: what depends on constants alone was computed beforehand\n");
  print_lines(search_lines(outcome.made));
  print_lines(outcome.check ? outcome.check->lines() : std::vector<std::string>{"not checked (--no-check)"});
  double seconds = 0;
  std::string phases;
  for (const auto& [phase, time] : outcome.seconds) {
    seconds += time;
    phases += fmt::format("{}{} {:.1f}", phases.empty() ? "" : ", ", phase, time);
  }
  fmt::print("took: {:.1f} s ({}), at most {:.0f} MB\n", seconds, phases, report["peak_memory_mb"].get<double>());
}

/// As a page where the file's name says so, else as JSON.
std::string report_text(const Options& options, const OptimizedFile& outcome, const json& facts) {
  if (!is_page(options.report)) return json_text(facts, 2) + "\n";
  return optimize_page(fs::path(options.input).filename().string(), outcome, facts);
}

/// Model, report and proof get their names when all are written and printed.
Result<ExitCode> run(const Options& options) {
  const StopsInOrder stops;
  const std::string& records = options.choices.search.records;
  const std::vector<NamedFile> rules = files_of_rules(options.choices.search.rules);
  std::vector<NamedFile> others = {{"IN", options.input}, {"--output", options.output}};
  append(others, rules);
  TRY_VOID(check_distinct(rules, {{"--output", options.output}}));
  TRY_VOID(check_distinct(others, {{"--report", options.report}, {"--proof", options.proof}, {"--records", records}}));
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(std::optional<OutputFile> proof_file, file_for(options.proof));
  std::optional<ProgressLine> progress(std::in_place, options);
  TRY(const Settings settings, settings_of(options, *progress));
  const OptimizeChoices choices = options.chosen();
  TRY(StagingFolder staging, StagingFolder::beside(options.output, options.besides()));
  TRY(const OptimizedFile outcome, optimize_file(options.input, staging, choices, settings));
  progress.reset();
  const json report = optimize_json(options.input, choices, settings, outcome);
  TRY_VOID(write(report_text(options, outcome, report), report_file));
  TRY_VOID(write(outcome.proof, proof_file));
  TRY_VOID(print_results([&] {
    if (options.json)
      fmt::print("{}\n", json_text(report));
    else if (!options.quiet)
      print_table(options, outcome, report);
  }));
  TRY_VOID(staging.release());
  if (report_file) TRY_VOID(report_file->commit());
  if (proof_file) TRY_VOID(proof_file->commit());
  for (const std::string& skipped : outcome.made.derived.before.skipped)
    note(options, "isomer: skipped {}", printable(skipped, kMostOfLine));
  for (const std::string& left_out : outcome.made.left_out)
    note(options, "isomer: left out {}", printable(left_out, kMostOfLine));
  if (outcome.check) warn_of_what_was_set_aside(options, outcome.check->equivalence);
  if (!outcome.is_interrupted()) return kDone;
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
      ->add_option("--level,-O", options->choices.level,
                   "0: nothing but what reading writes out; 1: bit-exact changes; 2: arithmetic folded too; 3: "
                   "searched over proved rules and measured too")
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
  command->add_option("--check-runs", options->choices.runs, "Input sets of the check")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_search_options(*command, options->choices.search);
  add_backend_options(*command, options->choices.search);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? *done : report_failed(*options, done.error());
  });
}

}  // namespace isomer::cli
