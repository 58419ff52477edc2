// What a model is optimized for: it says what parts of it cost, and runs whole ones.
#pragma once

#include "search/graph_cost.h"
#include "search/race.h"

namespace isomer {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual GraphCost& costs() = 0;
  /// Of a model whose dims are bound.
  virtual Result<std::unique_ptr<Runner>> runner(const Graph& model, std::span<const Tensor> inputs) = 0;
};

/// Our own code on this machine, for a model whose weights are where `weights` says when a step needs them.
class CompilingBackend final : public Backend {
 public:
  /// The records outlive it.
  CompilingBackend(CompileOptions options, Weights weights, kernel::Records& records)
      : options_(std::move(options)), timer_(options_, records, weights), costs_(options_, timer_) {}
  GraphCost& costs() override { return costs_; }
  Result<std::unique_ptr<Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
    return compiled_runner(model, inputs, kPasses, options_);
  }
  const TaskTimer& timer() const { return timer_; }

 private:
  static constexpr int kPasses = 2;  ///< the level of the passes before code is made

  const CompileOptions options_;
  TaskTimer timer_;
  TaskCost costs_;
};

}  // namespace isomer
