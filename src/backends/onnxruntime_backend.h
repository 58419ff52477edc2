// ONNX Runtime as what a model is optimized for: parts of it are timed there, and whole models raced there.
#pragma once

#include <map>
#include <optional>

#include "kernel/records.h"
#include "search/cost/backend.h"
#include "util/temporary_folder.h"

namespace isomer::backends {

class OnnxRuntimeBackend final : public search::Backend, private search::GraphCost {
 public:
  /// `library`: a path (onnxruntime.h); `given`: the file of the model that everything begins with. The records outlive
  /// it.
  OnnxRuntimeBackend(std::string library, std::string given, int threads, kernel::Records& records);

  std::string name() const override { return "ONNX Runtime " + version_; }
  search::GraphCost& costs() override { return *this; }
  double settle_seconds() const override { return threads_ > 1 ? kSpinningSeconds : search::Backend::settle_seconds(); }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override;
  Result<std::unique_ptr<search::Runner>> runner_as_given(const Graph& model, std::span<const Tensor> inputs) override;

 private:
  static constexpr double kSpinningSeconds = 0.05;  ///< its pools spin a million times before they sleep

  Result<search::Cost> cost(const Graph& part, search::Effort effort) override;
  Result<double> measure(const Graph& part);

  Result<std::unique_ptr<search::Runner>> opened(const std::string& file, const Graph& model,
                                                 std::span<const Tensor> inputs);

  std::string library_, given_;
  std::string version_;  ///< once a model was opened in it
  int threads_;
  kernel::Records& records_;
  std::optional<TemporaryFolder> folder_;  ///< of models on their way to it, made when the first one is
  std::map<Hash128, double> known_;
};

}  // namespace isomer::backends
