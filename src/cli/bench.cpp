// isomer bench: how long an artifact takes, as a whole and task by task.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/load_artifact.h"
#include "cli/load_model.h"
#include "cli/model_inputs.h"
#include "cli/report_file.h"
#include "cli/search_options.h"
#include "cli/search_report.h"
#include "cli/settings.h"
#include "driver/bench.h"
#include "util/append.h"
#include "util/parse_number.h"
#include "util/quantile.h"

namespace isomer::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct BenchOptions : CommonOptions {
  InputOptions inputs;
  CompileChoices choices;
  BenchChoices bench;
  std::string file, report;
  bool serve = false;
};

Result<BenchSession> open_bench(const BenchOptions& options, bool timed) {
  TRY(LoadedArtifact artifact,
      load_artifact(options.file, options, timed_session(timed), options.choices, options.inputs));
  TRY(const std::vector<te::Array> arrays,
      model_inputs(artifact.interface, options.file, options.inputs, options, artifact.demands));
  std::vector<Tensor> inputs;
  for (const te::Array& array : arrays) inputs.push_back(te::to_tensor(array));
  return BenchSession::make(std::move(artifact), std::move(inputs));
}

/// Loads once, then runs as often as each line of standard input says.
Result<void> serve(const BenchOptions& options) {
  const double before = peak_memory_mb();
  const auto start = Clock::now();
  TRY(BenchSession bench, open_bench(options, false));
  fmt::print("{}\n",
             json_text({{"ready", true}, {"load_s", milliseconds(Clock::now() - start) / 1e3}, {"before_mb", before}}));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto count = parse_number<int64_t>(line);
    if (!count || *count < 0)
      return Error{ErrorKind::kUsage, "standard input", "a number of runs expected, '" + line + "' found"};
    json times = json::array();
    for (int64_t i = 0; i < *count; ++i) {
      TRY(const double time, bench.run());
      times.push_back(time);
    }
    fmt::print("{}\n", json_text({{"times_ms", times}}));
    std::fflush(stdout);
  }
  return {};
}

/// The tasks that take the longest, or all of them.
void print_profile(std::vector<json> tasks, bool all) {
  constexpr size_t kShown = 10;
  std::sort(tasks.begin(), tasks.end(), [](const json& a, const json& b) { return a["share"] > b["share"]; });
  fmt::print("{:>6}  {:>10}  {:>8}  task\n", "share", "us", "GFLOP/s");
  const size_t shown = all ? tasks.size() : std::min(tasks.size(), kShown);
  for (size_t k = 0; k < shown; ++k)
    fmt::print("{:5.1f}%  {:10.1f}  {:8.1f}  {:{}}{}\n", 100 * tasks[k]["share"].get<double>(),
               tasks[k]["median_us"].get<double>(), tasks[k]["gflops"].get<double>(), "",
               2 * tasks[k]["depth"].get<int>(), printable(tasks[k]["name"].get<std::string>()));
  if (shown < tasks.size())
    fmt::print("        and {} (-v)\n", counted(static_cast<int64_t>(tasks.size() - shown), "more task"));
}

void print_report(const json& report, const BenchOptions& options) {
  const auto number = [&](const char* key) { return report[key].get<double>(); };
  const auto time = [&](const char* key) { return time_text(1e3 * number(key)); };
  print_profile(report["tasks"], options.verbosity > 0);
  const bool is_on_gpu = report.contains("device");
  fmt::print("{} {}: median {}, min {}, p90 {}, p99 {} of {}; {:.1f} GFLOP/s{}\n", printable(options.file),
             is_on_gpu ? "on a GPU" : "at " + counted(report["threads"].get<int>(), "thread"), time("median_ms"),
             time("min_ms"), time("p90_ms"), time("p99_ms"),
             counted(static_cast<int64_t>(report["times_ms"].size()), "run"), number("gflops"),
             is_on_gpu ? "" : fmt::format(" of {:.1f}", number("fma_peak_gflops")));
  if (is_on_gpu)
    fmt::print("{}, caches cold: median {:.4f} ms on the device; against itself {:.3f}\n",
               printable(report["device"].get<std::string>()),
               quantile(report["device_times_ms"].get<std::vector<double>>(), 0.5), number("control"));
  for (const auto& [name, peer] : report["against"].items()) {
    const bool is_on_device = peer.contains("on_device");
    const auto all = peer["times_ms"].get<std::vector<double>>();
    fmt::print("{} {}: median {:.4f} ms{}, {:.2f} times ours ({:.2f} to {:.2f})\n", name,
               printable(peer["version"].get<std::string>()), quantile(all, 0.5), is_on_device ? " on the device" : "",
               peer["ratio"].get<double>(), peer["ratio_p25"].get<double>(), peer["ratio_p75"].get<double>());
  }
}

/// The report replaces no weights of a model that is measured.
Result<void> check_report(const BenchOptions& options, Settings settings) {
  if (options.report.empty()) return {};
  settings.messages = {};  // what there is to say is said when it is measured
  const std::vector<std::filesystem::path> written = {options.report};
  for (const std::string& file : {options.file, options.bench.model}) {
    if (file.empty() || is_artifact(file)) continue;
    TRY(const LoadedModel model, isomer::load_model(file, settings));
    TRY_VOID(check_apart(model, file, written));
  }
  return {};
}

Result<void> measure(const BenchOptions& options) {
  std::vector<NamedFile> read = {{"FILE", options.file}, {"--model", options.bench.model}};
  append(read, files_of_inputs(options.inputs));
  append(read, files_of_schedules(options.choices.schedules));
  TRY_VOID(check_distinct(read, {{"--report", options.report}}));
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(const Settings settings, settings_of(options));
  BenchChoices choices = options.bench;
  if (!choices.model.empty() && !is_artifact(options.file))
    return Error{ErrorKind::kUsage, "--model",
                 "an artifact expected with it, of which peers know nothing; '" + options.file + "' is a model"};
  TRY_VOID(check_report(options, settings));
  if (choices.model.empty()) choices.model = options.file;
  const auto open = [&](bool timed) {
    BenchOptions again = options;
    again.quiet = options.quiet || timed;  // what there is to say was said
    return open_bench(again, timed);
  };
  TRY(json report, measured(open, choices, settings));
  report["model"] = options.file;
  TRY_VOID(write_measured(options.report, {options.file}, report, report_file));
  TRY_VOID(print_results([&] {
    if (options.json)
      fmt::print("{}\n", json_text(report));
    else
      print_report(report, options);
  }));
  return report_file ? report_file->commit() : Result<void>();
}

}  // namespace

void add_bench(CLI::App& app, int& exit) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a model or artifact: latency and a profile of its tasks");
  command->add_option("FILE", options->file, "The model or artifact")->required();
  auto* duration = add_duration_option(*command, options->bench.seconds, "How long to measure: 3, 3s, 1min");
  auto* against =
      command
          ->add_option(
              "--against", options->bench.against,
              "Peers to measure in turns with it: onnxruntime, onednn (models of one operator); for code of a GPU "
              "cudnn, cublaslt (models of one operator, with its bias and activation)")
          ->delimiter(',')
          ->allow_extra_args(false);
  command->add_option("--model", options->bench.model, "The model that peers run, where FILE is an artifact");
  command->add_option("--onnxruntime", options->bench.libraries["onnxruntime"], "ONNX Runtime's shared library");
  command->add_option("--onednn", options->bench.libraries["onednn"], "oneDNN's shared library");
  command->add_option("--cudnn", options->bench.libraries["cudnn"], "cuDNN's shared library");
  command->add_option("--cublaslt", options->bench.libraries["cublaslt"], "cuBLASLt's shared library");
  command->add_flag("--tf32", options->bench.tf32, "Let peers on a GPU round products of float32 to tf32");
  command
      ->add_flag("--serve", options->serve,
                 "Load once; for each line N on standard input run N times and print the times")
      ->excludes(duration)
      ->excludes(against);
  command->add_option("--report", options->report, kReportHelp)->excludes("--serve");
  add_schedules_option(*command, options->choices);
  options->add_to(*command);
  options->inputs.add_to(*command);
  command->callback([options, &exit] {
    const auto done = options->serve ? serve(*options) : measure(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
