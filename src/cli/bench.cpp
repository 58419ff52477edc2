// isomer bench: how long an artifact takes, as a whole and task by task.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/load_artifact.h"
#include "cli/model_inputs.h"
#include "cli/onnxruntime.h"
#include "util/machine_peak.h"

namespace isomer::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct BenchOptions : CommonOptions {
  InputOptions inputs;
  std::string file;
  double duration = 3;
  bool serve = false;
  std::vector<std::string> against;
  std::string model;        ///< that peers run; empty: `file`
  std::string onnxruntime;  ///< its shared library
};

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

/// A session with inputs to run it on; its outputs stay in the session.
class Bench {
 public:
  static Result<Bench> open(const BenchOptions& options, bool timed) {
    TRY(LoadedArtifact artifact, load_artifact(options.file, options, timed));
    TRY(std::vector<Tensor> inputs, model_inputs(artifact.interface, options.inputs, options.seed, artifact.bounds));
    return Bench(std::move(artifact), std::move(inputs));
  }

  runtime::Session& session() { return *artifact_.session; }
  const Graph& interface() const { return artifact_.interface; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  Result<double> run() {
    const auto start = Clock::now();
    TRY_VOID(session().run(given_, outputs_));
    return milliseconds(Clock::now() - start);
  }

  Result<std::vector<double>> run_for(double seconds) {
    std::vector<double> times;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    do {
      TRY(const double time, run());
      times.push_back(time);
    } while (Clock::now() < end);
    return times;
  }

 private:
  Bench(LoadedArtifact artifact, std::vector<Tensor> inputs) : artifact_(std::move(artifact)), inputs_(std::move(inputs)), outputs_(artifact_.session->variant().outputs.size()) {
    for (const Tensor& tensor : inputs_)
      // Inputs are only read.
      given_.push_back({static_cast<runtime::ElementType>(tensor.dtype()), tensor.dims(), const_cast<std::byte*>(tensor.bytes().data())});
  }

  LoadedArtifact artifact_;
  std::vector<Tensor> inputs_;
  std::vector<runtime::Tensor> given_, outputs_;
};

double quantile(std::vector<double> sorted, double q) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// The time of a task that runs others has theirs in it.
json tasks_of(const runtime::Session& session) {
  int64_t total = 0;
  for (const auto& time : session.times())
    if (time.depth == 0) total += time.nanoseconds;
  json tasks = json::array();
  for (const auto& time : session.times()) {
    if (time.runs == 0) continue;
    const double microseconds = static_cast<double>(time.nanoseconds) / 1e3 / static_cast<double>(time.runs);
    tasks.push_back({{"name", time.step->name},
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
  TRY(Bench bench, Bench::open(options, false));
  fmt::print("{}\n", json_text({{"ready", true}, {"load_s", milliseconds(Clock::now() - start) / 1e3}, {"before_mb", before}}));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    int64_t count = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
    if (error != std::errc() || end != line.data() + line.size() || count < 0) return Error{ErrorKind::kUsage, "standard input", "a number of runs expected, '" + line + "' found"};
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

/// Ours and a peer's in turns, as often each in a round as take some milliseconds: drifts of the machine meet both.
Result<json> compare_with_peer(Bench& bench, OnnxRuntime& peer, double seconds) {
  const auto run_peer = [&](std::vector<double>& times) -> Result<void> {
    const auto start = Clock::now();
    TRY_VOID(peer.run());
    times.push_back(milliseconds(Clock::now() - start));
    return {};
  };
  std::vector<double> times, ratios;
  TRY_VOID(run_peer(times));
  TRY_VOID(run_peer(times));
  const int count = std::clamp(static_cast<int>(20 / std::max(times.back(), 1e-3)), 1, 1000);
  times.clear();
  const auto end = Clock::now() + std::chrono::duration<double>(2 * seconds);
  // Workers spin for a while when their work is done: the other's turn begins when they sleep.
  const auto settle = [&] {
    if (bench.session().threads() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  do {
    std::vector<double> ours, theirs;
    settle();
    for (int i = 0; i < count; ++i) {
      TRY(const double time, bench.run());
      ours.push_back(time);
    }
    settle();
    for (int i = 0; i < count; ++i) TRY_VOID(run_peer(theirs));
    ratios.push_back(quantile(theirs, 0.5) / quantile(ours, 0.5));
    times.insert(times.end(), theirs.begin(), theirs.end());
  } while (Clock::now() < end);
  return json{{"version", peer.version()}, {"times_ms", times}, {"ratio", quantile(ratios, 0.5)}, {"ratio_p25", quantile(ratios, 0.25)}, {"ratio_p75", quantile(ratios, 0.75)}};
}

Result<json> compare_with_peers(Bench& bench, const BenchOptions& options) {
  json result = json::object();
  for (const std::string& name : options.against) {
    if (name != "onnxruntime") return unsupported("--against", "onnxruntime expected, '{}' found", name);
    const std::string model = options.model.empty() ? options.file : options.model;
    if (is_artifact(model)) return Error{ErrorKind::kUsage, "--against", "a model for the peer expected, '" + model + "' is an artifact; name it with --model"};
    const std::string library = find_onnxruntime(options.onnxruntime);
    if (library.empty()) return unsupported("--against", "ONNX Runtime expected, none found; name its shared library with --onnxruntime");
    TRY(const auto peer, OnnxRuntime::open(library, model, bench.interface(), bench.inputs(), bench.session().threads()));
    TRY(result[name], compare_with_peer(bench, *peer, options.duration));
  }
  return result;
}

Result<void> measure(const BenchOptions& options) {
  TRY(Bench bench, Bench::open(options, false));
  TRY_VOID(bench.run_for(options.duration / 10));
  TRY(const std::vector<double> times, bench.run_for(options.duration));
  TRY(const json against, compare_with_peers(bench, options));
  TRY(Bench profile, Bench::open(options, true));
  TRY(const std::vector<double> profiled, profile.run_for(options.duration / 3));

  const double peak = measure_fma_peak(bench.session().threads());
  double gflop = 0;
  for (const auto& time : profile.session().times()) gflop += static_cast<double>(time.step->flops) / 1e9 * static_cast<double>(time.runs) / static_cast<double>(profiled.size());
  const double median = quantile(times, 0.5);
  const json report = {{"model", options.file},
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
  if (options.json) {
    fmt::print("{}\n", json_text(report));
    return {};
  }
  fmt::print("{} at {} threads: median {:.3f} ms, min {:.3f}, p90 {:.3f}, p99 {:.3f} of {} runs; {:.1f} GFLOP/s of {:.1f}\n", printable(options.file), bench.session().threads(),
             median, quantile(times, 0), quantile(times, 0.9), quantile(times, 0.99), times.size(), gflop / median * 1e3, peak);
  for (const auto& [name, peer] : against.items())
    fmt::print("{} {}: median {:.3f} ms, {:.2f} times ours ({:.2f} to {:.2f})\n", name, peer["version"].get<std::string>(), quantile(peer["times_ms"].get<std::vector<double>>(), 0.5),
               peer["ratio"].get<double>(), peer["ratio_p25"].get<double>(), peer["ratio_p75"].get<double>());
  std::vector<json> tasks = report["tasks"];
  std::sort(tasks.begin(), tasks.end(), [](const json& a, const json& b) { return a["share"] > b["share"]; });
  fmt::print("{:>6}  {:>10}  {:>8}  task\n", "share", "us", "GFLOP/s");
  for (const json& task : tasks)
    fmt::print("{:5.1f}%  {:10.1f}  {:8.1f}  {:{}}{}\n", 100 * task["share"].get<double>(), task["median_us"].get<double>(), task["gflops"].get<double>(), "",
               2 * task["depth"].get<int>(), printable(task["name"].get<std::string>()));
  return {};
}

}  // namespace

void add_bench(CLI::App& app, int& exit) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure a model or artifact: latency and a profile of its tasks");
  command->add_option("FILE", options->file, "The model or artifact")->required();
  command->add_option("--duration", options->duration, "Seconds to measure for")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--against", options->against, "Peers to measure in turns with it: onnxruntime")->delimiter(',');
  command->add_option("--model", options->model, "The model that peers run, where FILE is an artifact");
  command->add_option("--onnxruntime", options->onnxruntime, "ONNX Runtime's shared library");
  command->add_flag("--serve", options->serve, "Load once; for each line N on standard input run N times and print the times");
  options->add_to(*command);
  options->inputs.add_to(*command);
  command->callback([options, &exit] {
    const auto done = options->serve ? serve(*options) : measure(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
