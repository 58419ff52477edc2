// isomer bench: how long an artifact takes, as a whole and task by task.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/find_library.h"
#include "backends/onednn.h"
#include "backends/onnxruntime.h"
#include "cli/bench_gpu.h"
#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/report_file.h"
#include "cli/search_options.h"
#include "util/machine_peak.h"
#include "util/resident.h"

namespace isomer::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double peak_memory_mb() { return static_cast<double>(peak_resident_bytes()) / (1 << 20); }

/// The time of a task that runs others has theirs in it.
json tasks_of(const runtime::Session& session) {
  int64_t total = 0;
  for (const auto& time : session.times())
    if (time.depth == 0) total += time.nanoseconds;
  json tasks = json::array();
  for (const auto& time : session.times()) {
    if (time.runs == 0) continue;
    const double microseconds = static_cast<double>(time.nanoseconds) / 1e3 / static_cast<double>(time.runs);
    tasks.push_back(
        {{"name", time.step->name},
         {"ops", time.step->operators},
         {"depth", time.depth},
         {"share", static_cast<double>(time.nanoseconds) / static_cast<double>(std::max<int64_t>(total, 1))},
         {"median_us", microseconds},
         {"gflops", static_cast<double>(time.step->flops) / (microseconds * 1e3)}});
  }
  return tasks;
}

/// Loads once, then runs as often as each line of standard input says.
Result<void> serve(const BenchOptions& options) {
  const double before = peak_memory_mb();
  const auto start = Clock::now();
  TRY(BenchSession bench, BenchSession::open(options, false));
  fmt::print("{}\n",
             json_text({{"ready", true}, {"load_s", milliseconds(Clock::now() - start) / 1e3}, {"before_mb", before}}));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
    if (error != std::errc() || end != line.data() + line.size() || count < 0)
      return Error{ErrorKind::kUsage, "standard input", "a number of runs expected, '" + line + "' found"};
    json times = json::array();
    for (int64_t i = 0; i < count; ++i) {
      TRY(const double time, bench.run());
      times.push_back(time);
    }
    fmt::print("{}\n", json_text({{"times_ms", times}}));
    std::fflush(stdout);
  }
  return {};
}

/// A peer with the times of its runs, and for each round the ratio of its median to ours.
struct Rival {
  std::string name;
  std::unique_ptr<backends::Peer> peer;
  int count = 1;  ///< runs a round
  std::vector<double> times = {}, ratios = {};
};

/// Ours and each peer's in turns, as often each in a round as take some milliseconds: drifts of the machine meet all.
Result<void> race(BenchSession& bench, std::vector<Rival>& rivals, double seconds) {
  const auto timed = [](backends::Peer& peer) -> Result<double> {
    const auto start = Clock::now();
    TRY_VOID(peer.run());
    return milliseconds(Clock::now() - start);
  };
  const auto some_milliseconds = [](double one) {
    return std::clamp(static_cast<int>(20 / std::max(one, 1e-3)), 1, 1000);
  };
  for (Rival& rival : rivals) {
    TRY_VOID(rival.peer->run());
    TRY(const double time, timed(*rival.peer));
    rival.count = some_milliseconds(time);
  }
  TRY(const double own, bench.run());
  const int count = some_milliseconds(own);
  // Workers spin for a while when their work is done: the other's turn begins when they sleep.
  const auto settle = [&] {
    if (bench.session().threads() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  const auto end = Clock::now() + std::chrono::duration<double>(static_cast<double>(rivals.size() + 1) * seconds);
  do {
    settle();
    std::vector<double> ours;
    for (int i = 0; i < count; ++i) {
      TRY(const double time, bench.run());
      ours.push_back(time);
    }
    for (Rival& rival : rivals) {
      settle();
      std::vector<double> theirs;
      for (int i = 0; i < rival.count; ++i) {
        TRY(const double time, timed(*rival.peer));
        theirs.push_back(time);
      }
      rival.ratios.push_back(quantile(theirs, 0.5) / quantile(ours, 0.5));
      rival.times.insert(rival.times.end(), theirs.begin(), theirs.end());
    }
  } while (Clock::now() < end);
  return {};
}

Result<std::unique_ptr<backends::Peer>> open_peer(const std::string& name, const std::string& model,
                                                  BenchSession& bench, const BenchOptions& options) {
  const int threads = bench.session().threads();
  if (name == "onnxruntime") {
    const std::string library = backends::find(backends::onnxruntime_library(), options.onnxruntime);
    if (library.empty())
      return unsupported("--against", "ONNX Runtime expected, none found; name its shared library with --onnxruntime");
    return backends::open_onnxruntime(library, model, bench.interface(), bench.inputs(), threads);
  }
  if (is_gpu_peer(name)) return Error{ErrorKind::kUsage, "--against", "code of a GPU expected beside " + name};
  if (name != "onednn")
    return Error{ErrorKind::kUsage, "--against", "onnxruntime or onednn expected, '" + name + "' found"};
  const std::string library = backends::find(backends::onednn_library(), options.onednn);
  if (library.empty())
    return unsupported("--against", "oneDNN expected, none found; name its shared library with --onednn");
  TRY(const LoadedModel loaded, load_model(model, options));
  TRY(const std::vector<float> expected, bench.first_output());
  TRY(auto peer, backends::open_onednn(library, loaded.graph, bench.inputs(), expected, threads));
  if (!peer)
    note(options, "onednn: no primitive for {}",
         printable(loaded.graph.node_count() == 1 ? loaded.graph.node(loaded.graph.nodes()[0]).op_type
                                                  : "more than one operator"));
  return peer;
}

Result<json> compare_with_peers(BenchSession& bench, const BenchOptions& options) {
  std::vector<Rival> rivals;
  for (const std::string& name : options.against) {
    if (bench.is_on_gpu() && is_gpu_peer(name)) continue;
    const std::string model = options.model.empty() ? options.file : options.model;
    if (is_artifact(model))
      return Error{ErrorKind::kUsage, "--against",
                   "a model for the peer expected, '" + model + "' is an artifact; name it with --model"};
    TRY(auto peer, open_peer(name, model, bench, options));
    if (peer) rivals.push_back({name, std::move(peer)});
  }
  json result = json::object();
  if (rivals.empty()) return result;
  TRY_VOID(race(bench, rivals, options.duration));
  for (const Rival& rival : rivals) {
    json& facts = result[rival.name];
    facts = {{"version", rival.peer->version()},
             {"times_ms", rival.times},
             {"ratio", quantile(rival.ratios, 0.5)},
             {"ratio_p25", quantile(rival.ratios, 0.25)},
             {"ratio_p75", quantile(rival.ratios, 0.75)}};
    if (const std::string algorithm = rival.peer->algorithm(); !algorithm.empty()) facts["algorithm"] = algorithm;
  }
  return result;
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
  if (shown < tasks.size()) fmt::print("        and {} more tasks (-v)\n", tasks.size() - shown);
}

Result<void> measure(const BenchOptions& options) {
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(BenchSession bench, BenchSession::open(options, false));
  TRY_VOID(bench.run_for(options.duration / 10));
  TRY(const std::vector<double> times, bench.run_for(options.duration));
  TRY(json against, compare_with_peers(bench, options));
  json gpu = json::object();
  if (bench.is_on_gpu()) {
    TRY(gpu, measure_on_gpu(bench, options));
    against.update(gpu["against"]);
    gpu.erase("against");
  }
  BenchOptions again = options;
  again.quiet = true;  // what there is to say was said
  TRY(BenchSession profile, BenchSession::open(again, true));
  TRY(const std::vector<double> profiled, profile.run_for(options.duration / 3));

  const double peak = measure_fma_peak(bench.session().threads());
  double gflop = 0;
  for (const auto& time : profile.session().times())
    gflop += static_cast<double>(time.step->flops) / 1e9 * static_cast<double>(time.runs) /
             static_cast<double>(profiled.size());
  const double median = quantile(times, 0.5);
  json report = {{"model", options.file},
                 {"threads", bench.session().threads()},
                 {"times_ms", times},
                 {"min_ms", quantile(times, 0)},
                 {"median_ms", median},
                 {"p90_ms", quantile(times, 0.9)},
                 {"p99_ms", quantile(times, 0.99)},
                 {"peak_memory_mb", peak_memory_mb()},
                 {"gflop", gflop},
                 {"gflops", gflop / median * 1e3},
                 {"fma_peak_gflops", peak},
                 {"tasks", tasks_of(profile.session())},
                 {"against", against}};
  report.update(gpu);
  TRY_VOID(write_measured(options.report, {options.file}, report, report_file));
  if (options.json) {
    fmt::print("{}\n", json_text(report));
    return {};
  }
  print_profile(report["tasks"], options.verbosity > 0);
  fmt::print(
      "{} at {} threads: median {:.3f} ms, min {:.3f}, p90 {:.3f}, p99 {:.3f} of {} runs; {:.1f} GFLOP/s of {:.1f}\n",
      printable(options.file), bench.session().threads(), median, quantile(times, 0), quantile(times, 0.9),
      quantile(times, 0.99), times.size(), gflop / median * 1e3, peak);
  if (bench.is_on_gpu())
    fmt::print("{}, caches cold: median {:.4f} ms on the device; against itself {:.3f}\n",
               printable(report["device"].get<std::string>()),
               quantile(report["device_times_ms"].get<std::vector<double>>(), 0.5), report["control"].get<double>());
  for (const auto& [name, peer] : against.items()) {
    const bool is_on_device = peer.contains("on_device");
    const auto all = peer["times_ms"].get<std::vector<double>>();
    fmt::print("{} {}: median {:.4f} ms{}, {:.2f} times ours ({:.2f} to {:.2f})\n", name,
               peer["version"].get<std::string>(), quantile(all, 0.5), is_on_device ? " on the device" : "",
               peer["ratio"].get<double>(), peer["ratio_p25"].get<double>(), peer["ratio_p75"].get<double>());
  }
  return {};
}

}  // namespace

void add_bench(CLI::App& app, int& exit) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a model or artifact: latency and a profile of its tasks");
  command->add_option("FILE", options->file, "The model or artifact")->required();
  command->add_option("--duration", options->duration, "Seconds to measure for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--against", options->against,
                   "Peers to measure in turns with it: onnxruntime, onednn (models of one operator); for code of a GPU "
                   "cudnn, cublaslt (models of one operator, with its bias and activation)")
      ->delimiter(',');
  command->add_option("--model", options->model, "The model that peers run, where FILE is an artifact");
  command->add_option("--onnxruntime", options->onnxruntime, "ONNX Runtime's shared library");
  command->add_option("--onednn", options->onednn, "oneDNN's shared library");
  command->add_option("--cudnn", options->cudnn, "cuDNN's shared library");
  command->add_option("--cublaslt", options->cublaslt, "cuBLASLt's shared library");
  command->add_flag("--tf32", options->tf32, "Let peers on a GPU round products of float32 to tf32");
  command->add_flag("--serve", options->serve,
                    "Load once; for each line N on standard input run N times and print the times");
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
