// ONNX Runtime as what a model is optimized for: parts of it are timed there, and whole models raced there.
#pragma once

#include <map>
#include <optional>

#include "kernel/records.h"
#include "search/backend.h"
#include "util/temporary_folder.h"

namespace isomer::backends {

class OnnxRuntimeBackend final : public Backend, private GraphCost {
 public:
  /// `library`: a path (onnxruntime.h); `given`: the file of the model that everything begins with. The records outlive
  /// it.
  OnnxRuntimeBackend(std::string library, std::string given, int threads, kernel::Records& records);

  std::string name() const override { return "ONNX Runtime " + version_; }
  GraphCost& costs() override { return *this; }
  double settle_seconds() const override { return threads_ > 1 ? kSpinningSeconds : Backend::settle_seconds(); }
  Result<std::unique_ptr<Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override;
  Result<std::unique_ptr<Runner>> runner_as_given(const Graph& model, std::span<const Tensor> inputs) override;

 private:
  static constexpr double kSpinningSeconds = 0.05;  ///< its pools spin a million times before they sleep

  Result<Cost> cost(const Graph& part, Effort effort) override;
  Result<double> measure(const Graph& part);

  Result<std::unique_ptr<Runner>> opened(const std::string& file, const Graph& model, std::span<const Tensor> inputs);

  std::string library_, given_;
  std::string version_;  ///< once a model was opened in it
  int threads_;
  kernel::Records& records_;
  std::optional<TemporaryFolder> folder_;  ///< of models on their way to it, made when the first one is
  std::map<Hash128, double> known_;
};

}  // namespace isomer::backends
