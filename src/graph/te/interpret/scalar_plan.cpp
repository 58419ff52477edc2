#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/stage_plan.h"

namespace isomer::te::interpreter {
namespace {

/// Counts through the points of a box in row-major order, in registers of the machine.
class Odometer {
 public:
  Odometer(const Dims& extents, std::vector<int> registers) : extents_(extents), registers_(std::move(registers)) {}
  void start(ScalarMachine& machine) const {
    for (const int reg : registers_) machine[reg].integer = 0;
  }
  bool next(ScalarMachine& machine) const {
    for (size_t k = extents_.size(); k-- > 0;) {
      if (++machine[registers_[k]].integer < extents_[k]) return true;
      machine[registers_[k]].integer = 0;
    }
    return false;
  }

 private:
  const Dims& extents_;
  std::vector<int> registers_;
};

class ScalarPlan : public StagePlan {
 public:
  ScalarPlan(const MapReduce& stage, const Domain& domain) : domain_(domain), reduces_(!stage.combine.combine.empty()) {
    for (size_t k = 0; k < domain.axes.size(); ++k)
      axes_.push_back(code_.variable(VarKind::kSpatial, static_cast<int>(k)));
    for (size_t k = 0; k < domain.reduce.size(); ++k)
      reduce_.push_back(code_.variable(VarKind::kReduce, static_cast<int>(k)));
    time_ = code_.variable(VarKind::kTime, 0);
    results_ = code_.compile(stage.bodies);
    if (!reduces_) return;
    identity_ = identity_of(stage.combine);
    for (int k = 0; k < stage.combine.arity(); ++k) {
      accumulators_.push_back(code_.variable(VarKind::kLeft, k));
      code_.bind(VarKind::kRight, k, results_[k].result);
    }
    bodies_ = results_[0];
    results_ = code_.compile(stage.combine.combine);
  }
  const std::optional<Error>& error() const { return code_.error(); }

  const std::vector<BufferRef>& buffers() const override { return none_; }
  Result<void> run(const RunContext& context, std::span<void* const> outputs) override {
    if (!machine_) machine_.emplace(code_);
    ScalarMachine& machine = *machine_;
    for (size_t k = 0; k < code_.buffers().size(); ++k)
      machine.views()[k] = View::of((*context.buffers)(code_.buffers()[k]));
    machine[time_].integer = context.time;
    const Odometer axes(domain_.axes, axes_);
    int64_t element = 0;
    axes.start(machine);
    do {
      if (!(reduces_ ? reduce(machine) : machine.run(results_[0]))) return invalid("", "{}", machine.failure());
      for (size_t k = 0; k < outputs.size(); ++k)
        static_cast<Cell*>(outputs[k])[element] = machine[reduces_ ? accumulators_[k] : results_[k].result];
      ++element;
    } while (axes.next(machine));
    return {};
  }

 private:
  bool reduce(ScalarMachine& machine) {
    for (size_t k = 0; k < accumulators_.size(); ++k) machine[accumulators_[k]] = identity_[k];
    const Odometer points(domain_.reduce, reduce_);
    points.start(machine);
    do {
      if (!machine.run(bodies_) || !machine.run(results_[0])) return false;
      combined_.clear();
      for (const Section& result : results_) combined_.push_back(machine[result.result]);
      for (size_t k = 0; k < combined_.size(); ++k) machine[accumulators_[k]] = combined_[k];
    } while (points.next(machine));
    return true;
  }

  const Domain domain_;
  const bool reduces_;
  ScalarCode code_;
  std::vector<int> axes_, reduce_, accumulators_;
  int time_;
  std::vector<Cell> identity_;
  Section bodies_;
  std::vector<Section> results_;
  std::optional<ScalarMachine> machine_;
  std::vector<Cell> combined_;
  const std::vector<BufferRef> none_;  ///< views are made for each run
};

}  // namespace

Result<std::unique_ptr<StagePlan>> plan_scalar(const MapReduce& stage, const Domain& domain) {
  auto plan = std::make_unique<ScalarPlan>(stage, domain);
  if (plan->error()) return *plan->error();
  return std::unique_ptr<StagePlan>(std::move(plan));
}

}  // namespace isomer::te::interpreter
