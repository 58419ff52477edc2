#include "driver/bench.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/find_library.h"
#include "backends/onednn.h"
#include "backends/onnxruntime.h"
#include "driver/bench_gpu.h"
#include "driver/peer_model.h"
#include "util/machine_peak.h"
#include "util/quantile.h"
#include "util/resident.h"
#include "util/stop.h"
#include "util/utf8.h"

namespace isomer {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// The time of a task that runs others has theirs in it. Medians, of shares too: what interrupts a run takes as long as
/// it likes.
json tasks_of(const runtime::Session& session) {
  const auto all_of = [](const runtime::StepTime& time) {
    return static_cast<double>(time.median_nanoseconds) * static_cast<double>(time.runs);
  };
  double total = 0;
  for (const auto& time : session.times())
    if (time.depth == 0) total += all_of(time);
  json tasks = json::array();
  for (const auto& time : session.times()) {
    if (time.runs == 0) continue;
    const double microseconds = static_cast<double>(std::max<int64_t>(time.median_nanoseconds, 1)) / 1e3;
    tasks.push_back({{"name", time.step->name},
                     {"ops", time.step->operators},
                     {"depth", time.depth},
                     {"share", all_of(time) / std::max(total, 1.0)},
                     {"median_us", microseconds},
                     {"gflops", static_cast<double>(time.step->flops) / (microseconds * 1e3)}});
  }
  return tasks;
}

/// A peer with the times of its runs, and for each round the ratio of its median to ours.
struct Rival {
  std::string name;
  std::unique_ptr<backends::Peer> peer;
  int count = 1;  ///< runs a round
  std::vector<double> times = {}, ratios = {};
};

/// Of the CPU: those of our code, or where that is a GPU's those that peers on the CPU beside it have.
int threads_of(BenchSession& bench, const Settings& settings) {
  return bench.is_on_gpu() ? settings.threads : bench.session().threads();
}

/// Ours and each peer's in turns, as often each in a round as take some milliseconds: drifts of the machine meet all.
Result<void> race(BenchSession& bench, std::vector<Rival>& rivals, double seconds, int threads) {
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
    if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  const auto end = Clock::now() + std::chrono::duration<double>(static_cast<double>(rivals.size() + 1) * seconds);
  do {
    settle();
    std::vector<double> ours;
    for (int i = 0; i < count; ++i) {
      TRY_VOID(check_stop());
      TRY(const double time, bench.run());
      ours.push_back(time);
    }
    for (Rival& rival : rivals) {
      settle();
      std::vector<double> theirs;
      for (int i = 0; i < rival.count; ++i) {
        TRY_VOID(check_stop());
        TRY(const double time, timed(*rival.peer));
        theirs.push_back(time);
      }
      rival.ratios.push_back(quantile(theirs, 0.5) / quantile(ours, 0.5));
      rival.times.insert(rival.times.end(), theirs.begin(), theirs.end());
    }
  } while (Clock::now() < end);
  return {};
}

/// Of a peer on the CPU.
Result<std::string> found_library(const std::string& name, const BenchChoices& choices) {
  const bool is_onednn = name == "onednn";
  std::string library = backends::find(is_onednn ? backends::onednn_library() : backends::onnxruntime_library(),
                                       library_of(choices, name));
  if (library.empty())
    return unsupported("--against", "{} expected, none found; name its shared library with --{}",
                       is_onednn ? "oneDNN" : "ONNX Runtime", name);
  return library;
}

/// `model`: as model_of_peers gives it.
Result<std::unique_ptr<backends::Peer>> open_peer(const std::string& name, const Graph& model, BenchSession& bench,
                                                  const BenchChoices& choices, const Settings& settings) {
  const int threads = threads_of(bench, settings);
  TRY(const std::string library, found_library(name, choices));
  if (name == "onnxruntime") return backends::open_onnxruntime(library, choices.model, model, bench.inputs(), threads);
  TRY(const std::vector<float> expected, bench.first_output());
  TRY(auto peer, backends::open_onednn(library, model, bench.inputs(), expected, threads));
  if (!peer)
    settings.messages.say("onednn: no primitive for " + (model.node_count() == 1
                                                             ? model.node(model.nodes()[0]).op_type
                                                             : std::string("more than one operator")));
  return peer;
}

/// Says where a peer computes something else: how long that takes tells nothing of ours.
Result<void> compare_first(Rival& rival, BenchSession& bench, const Settings& settings) {
  // Roundings of a whole model, of quantized numbers too, are below that.
  constexpr double kMost = 3e-2;
  TRY(const std::vector<Tensor> theirs, rival.peer->outputs());
  if (theirs.empty()) return {};
  TRY(const std::vector<Tensor> ours, bench.outputs());
  for (size_t k = 0; k < ours.size(); ++k) {
    if (theirs[k].dtype() == DataType::kUndefined) continue;
    const double difference = difference_of(elements_of(theirs[k]), elements_of(ours[k]));
    if (difference <= kMost) continue;
    const Graph& interface = bench.interface();
    settings.messages.say(fmt::format("{}: our outputs expected, {} differs by {:.2g} of its largest number",
                                      rival.name, printable(interface.value(interface.outputs()[k]).name), difference));
    break;
  }
  return {};
}

/// That the peers are such, and have a model to run.
Result<void> check_choices(const BenchChoices& choices) {
  for (const std::string& name : choices.against)
    if (name != "onnxruntime" && name != "onednn" && !is_gpu_peer(name))
      return Error{ErrorKind::kUsage, "--against",
                   "onnxruntime, onednn, cudnn or cublaslt expected, '" + name + "' found"};
  if (!choices.against.empty() && is_artifact(choices.model))
    return Error{ErrorKind::kUsage, "--against",
                 "a model for the peer expected, '" + choices.model + "' is an artifact; name it with --model"};
  return {};
}

/// That the peers are there: known before anything is measured.
Result<void> check_peers(BenchSession& bench, const BenchChoices& choices) {
  for (const std::string& name : choices.against) {
    if (!is_gpu_peer(name)) TRY_VOID(found_library(name, choices));
    if (is_gpu_peer(name) && !bench.is_on_gpu())
      return Error{ErrorKind::kUsage, "--against", "code of a GPU expected beside " + name};
  }
  return {};
}

/// On the CPU.
Result<std::vector<Rival>> open_rivals(BenchSession& bench, const BenchChoices& choices, const Settings& settings) {
  std::vector<Rival> rivals;
  if (std::ranges::all_of(choices.against, is_gpu_peer)) return rivals;
  TRY(const Graph model, model_of_peers(choices.model, bench.interface(), settings));
  for (const std::string& name : choices.against) {
    if (is_gpu_peer(name)) continue;
    TRY(auto peer, open_peer(name, model, bench, choices, settings));
    if (!peer) continue;
    rivals.push_back({name, std::move(peer)});
    TRY_VOID(compare_first(rivals.back(), bench, settings));
  }
  return rivals;
}

Result<json> compare_with_peers(BenchSession& bench, const BenchChoices& choices, const Settings& settings) {
  TRY(std::vector<Rival> rivals, open_rivals(bench, choices, settings));
  json result = json::object();
  if (rivals.empty()) return result;
  TRY_VOID(race(bench, rivals, choices.seconds, threads_of(bench, settings)));
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

}  // namespace

std::string library_of(const BenchChoices& choices, const std::string& peer) {
  const auto found = choices.libraries.find(peer);
  return found == choices.libraries.end() ? "" : found->second;
}

double peak_memory_mb() { return static_cast<double>(peak_resident_bytes()) / 1e6; }

Result<json> measured(const OpenBench& open, const BenchChoices& choices, const Settings& settings) {
  TRY_VOID(check_choices(choices));
  TRY(BenchSession bench, open(false));
  TRY_VOID(check_peers(bench, choices));
  TRY_VOID(bench.run_for(choices.seconds / 10));
  TRY(const std::vector<double> times, bench.run_for(choices.seconds));
  const double peak_memory = peak_memory_mb();  // before peers take theirs
  TRY(json against, compare_with_peers(bench, choices, settings));
  json gpu = json::object();
  if (bench.is_on_gpu()) {
    TRY(gpu, measure_on_gpu(bench, choices, settings));
    against.update(gpu["against"]);
    gpu.erase("against");
  }
  TRY(BenchSession profile, open(true));
  TRY(const std::vector<double> profiled, profile.run_for(choices.seconds / 3));
  double gflop = 0;
  for (const auto& time : profile.session().times())
    gflop += static_cast<double>(time.step->flops) / 1e9 * static_cast<double>(time.runs) /
             static_cast<double>(profiled.size());
  const double median = quantile(times, 0.5);
  const int threads = threads_of(bench, settings);
  json report = {{"threads", threads},
                 {"times_ms", times},
                 {"min_ms", quantile(times, 0)},
                 {"median_ms", median},
                 {"p90_ms", quantile(times, 0.9)},
                 {"p99_ms", quantile(times, 0.99)},
                 {"peak_memory_mb", peak_memory},
                 {"gflop", gflop},
                 {"gflops", gflop / median * 1e3},
                 {"fma_peak_gflops", bench.is_on_gpu() ? json() : json(measure_fma_peak(threads))},
                 {"tasks", tasks_of(profile.session())},
                 {"against", against}};
  report.update(gpu);
  return report;
}

}  // namespace isomer
