#include "driver/bench_gpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/cublaslt.h"
#include "backends/cudnn.h"
#include "backends/find_library.h"
#include "driver/peer_model.h"
#include "runtime/cuda/event_clock.h"
#include "util/quantile.h"
#include "util/stop.h"

namespace isomer {
namespace {

using nlohmann::json;
namespace cuda = runtime::cuda;
using Times = std::vector<double>;  ///< in milliseconds

/// The GPU of the session, with a stream for peers.
struct Place {
  std::shared_ptr<const cuda::Gpu> gpu;
  std::unique_ptr<cuda::Gpu::Current> current;
  std::unique_ptr<cuda::GpuDevice> device;
  std::unique_ptr<cuda::EventClock> clock;

  static Result<Place> open(std::shared_ptr<const cuda::Gpu> gpu) {
    Place place;
    place.gpu = std::move(gpu);
    place.current = std::make_unique<cuda::Gpu::Current>(*place.gpu);
    TRY(place.device, cuda::GpuDevice::create(place.gpu));
    TRY(place.clock, cuda::EventClock::create(*place.device));
    return place;
  }
};

/// A library's way to compute the model, captured.
struct Contender {
  std::string name, version;
  size_t ways = 0;  ///< that the library has
  std::unique_ptr<backends::GpuPeer> peer;
  std::shared_ptr<const cuda::GraphExec> graph;
  Times times = {}, ratios = {};
};

Result<double> timed(Place& place, const Contender& contender) {
  place.clock->start();
  place.device->ask("a peer's graph",
                    [&] { return place.gpu->driver().graph_launch(*contender.graph, place.device->stream()); });
  place.clock->stop();
  TRY(const double seconds, place.clock->seconds());
  return 1e3 * seconds;
}

/// Rounding of another order, or of Winograd's transforms, is far below.
double tolerance(DataType dtype) { return dtype == DataType::kFloat32 || dtype == DataType::kFloat64 ? 1e-3 : 3e-2; }

/// Its median over a few runs, where it computes what is expected.
Result<double> median_of(Place& place, Contender& contender, const std::vector<float>& expected, double most) {
  TRY_VOID(contender.peer->enqueue(place.device->stream()));
  TRY_VOID(place.device->finish());
  TRY(const std::vector<float> result, contender.peer->result());
  if (const double difference = difference_of(result, expected); !(difference <= most))
    return Error{ErrorKind::kMismatch, contender.name,
                 fmt::format("our result expected, {} differs by {:.2g} of the largest number",
                             contender.peer->algorithm(), difference)};
  contender.graph = place.device->capture([&] { return contender.peer->enqueue(place.device->stream()); });
  if (!contender.graph) return unsupported(contender.name, "work that can be captured expected");
  Times times;
  for (int k = 0; k < 7; ++k) {
    TRY(const double time, timed(place, contender));
    times.push_back(time);
  }
  return quantile(times, 0.5);
}

Result<backends::GpuPeers> ways_of(const std::string& name, const backends::GpuPeerRequest& request,
                                   const BenchChoices& choices) {
  const bool is_cudnn = name == "cudnn";
  const auto foreign = is_cudnn ? backends::cudnn_library() : backends::cublaslt_library();
  const std::string library = backends::find(foreign, library_of(choices, name));
  if (library.empty())
    return unsupported("--against", "the library {} expected, none found; name it with --{}", foreign.names[0], name);
  return is_cudnn ? backends::open_cudnn(library, request) : backends::open_cublaslt(library, request);
}

/// The fastest of a library's ways, if it has any.
Result<std::optional<Contender>> fastest(const std::string& name, Place& place, const backends::GpuPeerRequest& request,
                                         const std::vector<float>& expected, const BenchChoices& choices,
                                         const Settings& settings) {
  TRY(backends::GpuPeers peers, ways_of(name, request, choices));
  if (peers.ways.empty())
    settings.messages.say(
        fmt::format("{}: nothing for this model{}{}", name, peers.left_out.empty() ? "" : ", ", peers.left_out));
  const double most = tolerance(request.graph.value(request.graph.outputs()[0]).type.dtype);
  std::optional<Contender> best;
  double best_time = INFINITY;
  for (auto& way : peers.ways) {
    Contender contender{name, peers.version, peers.ways.size(), std::move(way), nullptr};
    const auto time = median_of(place, contender, expected, most);
    if (!time.ok()) {
      settings.messages.say(fmt::format("{}: {}: {}", name, contender.peer->algorithm(), time.error().message()));
      // What failed on the device ends everything there.
      TRY_VOID(place.device->finish());
      continue;
    }
    if (*time >= best_time) continue;
    best_time = *time;
    best = std::move(contender);
  }
  return best;
}

Result<std::vector<Contender>> contenders(BenchSession& bench, Place& place, const BenchChoices& choices,
                                          const Settings& settings) {
  std::vector<Contender> all;
  if (std::ranges::none_of(choices.against, is_gpu_peer)) return all;
  TRY(const Graph model, model_of_peers(choices.model, bench.interface(), settings));
  TRY(const std::vector<float> expected, bench.first_output());
  const backends::GpuPeerRequest request{model, bench.inputs(), *place.device, choices.tf32};
  for (const std::string& name : choices.against) {
    if (!is_gpu_peer(name)) continue;
    TRY(auto found, fastest(name, place, request, expected, choices, settings));
    if (found) all.push_back(*std::move(found));
  }
  return all;
}

/// Gigabytes a second that copies in the GPU's memory read and write together.
Result<double> copy_bandwidth(Place& place) {
  constexpr int64_t kBytes = 64 << 20;  // beyond any cache
  auto from = place.device->allocate(kBytes), to = place.device->allocate(kBytes);
  if (!from || !to) return unsupported("", "{} bytes of the GPU's memory expected", 2 * kBytes);
  Times times;
  for (int k = 0; k < 9; ++k) {
    place.clock->start();
    place.device->copy(to->data(), from->data(), kBytes);
    place.clock->stop();
    TRY(const double seconds, place.clock->seconds());
    times.push_back(seconds);
  }
  return 2e-9 * kBytes / quantile(times, 0.5);
}

json facts_of(const Times& times, const Times& ratios) {
  return {{"on_device", true},
          {"times_ms", times},
          {"ratio", quantile(ratios, 0.5)},
          {"ratio_p25", quantile(ratios, 0.25)},
          {"ratio_p75", quantile(ratios, 0.75)}};
}

}  // namespace

double difference_of(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0, difference = 0;
  for (size_t k = 0; k < found.size(); ++k) {
    const bool is_infinite = std::isinf(expected[k]) && found[k] == expected[k];
    if (is_infinite || (std::isnan(found[k]) && std::isnan(expected[k]))) continue;
    if (!std::isfinite(found[k]) || !std::isfinite(expected[k])) return INFINITY;
    largest = std::max(largest, std::abs(static_cast<double>(expected[k])));
    difference = std::max(difference, std::abs(static_cast<double>(found[k]) - static_cast<double>(expected[k])));
  }
  return difference == 0 ? 0 : difference / largest;
}

bool is_gpu_peer(const std::string& name) { return name == "cudnn" || name == "cublaslt"; }

Result<json> measure_on_gpu(BenchSession& bench, const BenchChoices& choices, const Settings& settings) {
  using Clock = std::chrono::steady_clock;
  TRY(Place place, Place::open(bench.session().gpu()));
  TRY(std::vector<Contender> all, contenders(bench, place, choices, settings));
  // Launches, then a graph: what is measured is the graph.
  for (int k = 0; k < 3; ++k) TRY_VOID(bench.run());
  constexpr int kTurns = 5;
  Times ours, controls;
  const auto turns = [](const auto& run) -> Result<Times> {
    Times times;
    for (int k = 0; k < kTurns; ++k) {
      TRY(const double time, run());
      times.push_back(time);
    }
    return times;
  };
  const auto end = Clock::now() + std::chrono::duration<double>(choices.seconds);
  do {
    TRY_VOID(check_stop());
    TRY(const Times first, turns([&] { return bench.run_on_gpu(); }));
    for (Contender& each : all) {
      TRY(const Times theirs, turns([&] { return timed(place, each); }));
      each.ratios.push_back(quantile(theirs, 0.5) / quantile(first, 0.5));
      each.times.insert(each.times.end(), theirs.begin(), theirs.end());
    }
    TRY(const Times second, turns([&] { return bench.run_on_gpu(); }));
    controls.push_back(quantile(second, 0.5) / quantile(first, 0.5));
    ours.insert(ours.end(), first.begin(), first.end());
  } while (Clock::now() < end);
  TRY(const double copy_gbs, copy_bandwidth(place));
  json result = {{"device", place.gpu->facts().name},
                 {"copy_gbs", copy_gbs},
                 {"device_times_ms", ours},
                 {"control", quantile(controls, 0.5)},
                 {"against", json::object()}};
  for (const Contender& each : all) {
    json& facts = result["against"][each.name] = facts_of(each.times, each.ratios);
    facts["version"] = each.version;
    facts["algorithm"] = each.peer->algorithm();
    facts["ways"] = each.ways;
  }
  return result;
}

}  // namespace isomer
