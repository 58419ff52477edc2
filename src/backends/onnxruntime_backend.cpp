#include "backends/onnxruntime_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "backends/onnxruntime.h"
#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "kernel/fingerprint.h"
#include "search/cost/estimate.h"
#include "util/clock.h"
#include "verify/check/inputs.h"

namespace isomer::backends {
namespace {

namespace fs = std::filesystem;

/// Of a part: the fastest run says what it takes when nothing else runs.
constexpr int kLeastRuns = 12;
constexpr double kSeconds = 0.01, kMostSeconds = 0.3;
/// Of a run: what takes longer is not measured.
constexpr double kLongestRun = 10;

class PeerRunner final : public search::Runner {
 public:
  explicit PeerRunner(std::unique_ptr<Peer> peer) : peer_(std::move(peer)) {}
  Result<void> run() override { return peer_->run(); }

 private:
  std::unique_ptr<Peer> peer_;
};

}  // namespace

OnnxRuntimeBackend::OnnxRuntimeBackend(std::string library, std::string given, int threads, kernel::Records& records)
    : library_(std::move(library)), given_(std::move(given)), threads_(threads), records_(records) {}

Result<std::unique_ptr<search::Runner>> OnnxRuntimeBackend::runner(const Graph& model, std::span<const Tensor> inputs) {
  if (!folder_) {
    TRY(TemporaryFolder made, TemporaryFolder::in_system_folder());
    folder_.emplace(std::move(made));
  }
  const fs::path file = folder_->path() / "model.onnx";
  TRY_VOID(export_model(model, file));
  auto made = opened(file.string(), model, inputs);
  std::error_code ignored;
  for (const fs::path& left : folder_->content()) fs::remove(left, ignored);
  return made;
}

// What is bound runs another way there: sizes that are known let it choose other kernels, which may be slower ones.
Result<std::unique_ptr<search::Runner>> OnnxRuntimeBackend::runner_as_given(const Graph& model,
                                                                            std::span<const Tensor> inputs) {
  if (auto made = opened(given_, model, inputs); made.ok()) return made;
  return runner(model, inputs);  // a file that it refuses may be one that we write so that it does not
}

Result<std::unique_ptr<search::Runner>> OnnxRuntimeBackend::opened(const std::string& file, const Graph& model,
                                                                   std::span<const Tensor> inputs) {
  TRY(auto peer, open_onnxruntime(library_, file, model, {inputs.begin(), inputs.end()}, threads_, kLongestRun));
  version_ = peer->version();
  return std::unique_ptr<search::Runner>(std::make_unique<PeerRunner>(std::move(peer)));
}

Result<double> OnnxRuntimeBackend::measure(const Graph& part) {
  TRY(const std::vector<Tensor> inputs, generate_inputs(part, {}));
  TRY(const auto runner, this->runner(part, inputs));
  TRY_VOID(runner->run());
  double best = std::numeric_limits<double>::max();
  const auto start = Clock::now();
  for (int run = 0; (run < kLeastRuns && seconds_since(start) < kMostSeconds) || seconds_since(start) < kSeconds;
       ++run) {
    const auto begin = Clock::now();
    TRY_VOID(runner->run());
    best = std::min(best, seconds_since(begin));
  }
  return best * 1e6;
}

Result<search::Cost> OnnxRuntimeBackend::cost(const Graph& part, search::Effort effort) {
  const Hash128 hash = structural_hash(part);
  if (const auto known = known_.find(hash); known != known_.end()) return search::Cost{known->second, true};
  // Another version may come to lie at the same place.
  if (version_.empty()) {
    TRY(version_, onnxruntime_version(library_));
  }
  const kernel::RecordKey key{hash, fmt::format("onnxruntime {}", kernel::fingerprint(kernel::host_target(), threads_)),
                              fmt::format("{} {}", version_, library_)};
  TRY(const auto record, records_.best(key, "onnxruntime"));
  if (record && record->microseconds) return search::Cost{known_[hash] = *record->microseconds, true};
  if (effort == search::Effort::kLookUp) return search::Cost{search::estimate(part), false};
  kernel::Record made{key, "onnxruntime",     "", fmt::format("{} nodes", part.node_count()), "", std::nullopt, "",
                      1,   std::time(nullptr)};
  TRY(made.microseconds, measure(part));
  TRY_VOID(records_.add(made));
  return search::Cost{known_[hash] = *made.microseconds, true};
}

}  // namespace isomer::backends
