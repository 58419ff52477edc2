// What a model is optimized for: it says what parts of it cost, and runs whole ones.
#pragma once

#include "search/cost/graph_cost.h"
#include "search/cost/race.h"
#include "search/cost/work.h"

namespace isomer::search {

class Backend {
 public:
  virtual ~Backend() = default;
  /// Where models run, for people.
  virtual std::string name() const = 0;
  virtual GraphCost& costs() = 0;
  /// Whether there is anything to run models: else costs are all there is.
  virtual bool can_run() const { return true; }
  /// Whether a runner simplifies what it is given: then a model runs as fast before our passes as after them.
  virtual bool simplifies() const { return false; }
  /// After a run, until its threads no longer wait busily: others would be slow beside them.
  virtual double settle_seconds() const { return RaceOptions().settle_seconds; }
  /// Of a model whose dims are bound where the backend simplifies; what else runs may leave them open.
  virtual Result<std::unique_ptr<Runner>> runner(const Graph& model, std::span<const Tensor> inputs) = 0;
  /// Of the model that everything began with, before its dims were bound.
  virtual Result<std::unique_ptr<Runner>> runner_as_given(const Graph& model, std::span<const Tensor> inputs) {
    return runner(model, inputs);
  }
};

/// Our own code on this machine, for a model whose weights are where `weights` says when a step needs them.
class CompilingBackend final : public Backend {
 public:
  /// The records outlive it.
  CompilingBackend(CompileOptions options, Weights weights, kernel::Records& records)
      : options_(std::move(options)), timer_(options_, records, weights), costs_(options_, timer_) {}
  std::string name() const override { return "Isomer's kernels"; }
  bool simplifies() const override { return true; }
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

/// Any runtime: costs count work, and what is found has to stand the test of one that is there.
class AnyBackend final : public Backend {
 public:
  /// `example` runs models; nullptr: nothing does.
  explicit AnyBackend(std::unique_ptr<Backend> example) : example_(std::move(example)) {}
  std::string name() const override { return example_ ? example_->name() : "any runtime"; }
  GraphCost& costs() override { return costs_; }
  bool can_run() const override { return example_ != nullptr; }
  double settle_seconds() const override { return example_ ? example_->settle_seconds() : Backend::settle_seconds(); }
  Result<std::unique_ptr<Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
    if (!example_) return unsupported("", "a runtime to measure in expected, none found");
    return example_->runner(model, inputs);
  }
  Result<std::unique_ptr<Runner>> runner_as_given(const Graph& model, std::span<const Tensor> inputs) override {
    if (!example_) return runner(model, inputs);
    return example_->runner_as_given(model, inputs);
  }

 private:
  std::unique_ptr<Backend> example_;
  WorkCost costs_;
};

}  // namespace isomer::search
