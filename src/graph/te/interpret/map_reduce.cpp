#include <algorithm>

#include "graph/te/interpret/stages.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

/// No values, or nothing to combine.
class IdentityPlan : public StagePlan {
 public:
  IdentityPlan(int64_t count, std::vector<Cell> identity) : count_(count), identity_(std::move(identity)) {}
  const std::vector<BufferRef>& buffers() const override { return none_; }
  Result<void> run(const RunContext&, std::span<void* const> outputs) override {
    if (count_ > 0)
      for (size_t k = 0; k < outputs.size(); ++k) std::fill_n(static_cast<Cell*>(outputs[k]), count_, identity_[k]);
    return {};
  }

 private:
  const int64_t count_;
  const std::vector<Cell> identity_;
  const std::vector<BufferRef> none_;
};

}  // namespace

Result<int64_t> checked_count(const Dims& dims) {
  constexpr int64_t kMost = int64_t{1} << 58;
  int64_t count = 1;
  for (const int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count) || count > kMost) return unsupported("", "more than 2^58 elements");
  return count;
}

Result<std::unique_ptr<StagePlan>> plan_stage(const MapReduce& stage, const Domain& domain, const Buffers& buffers) {
  // Below this a plan costs more than it saves.
  constexpr int64_t kTiny = 16;
  const bool is_map = stage.combine.combine.empty();
  CHECK(!is_map || stage.reduce.empty()) << "a reduction without an operation";
  TRY(const int64_t values, checked_count(domain.axes));
  TRY(const int64_t terms, checked_count(domain.reduce));
  if (values == 0 || terms == 0)
    return std::unique_ptr<StagePlan>(std::make_unique<IdentityPlan>(values, identity_of(stage.combine)));
  if (values <= kTiny && terms <= kTiny && values * terms <= kTiny) return plan_scalar(stage, domain);
  TRY(Lowered lowered, lower(stage.bodies, stage.combine, domain, buffers));
  if (auto plan = plan_contraction(lowered, stage, buffers)) return plan;
  return plan_strips(std::move(lowered), stage, buffers);
}

Result<Dims> evaluate_dims(const Shape& shape, const RunContext& context) {
  Dims dims;
  for (const Dim& dim : shape) {
    if (const auto value = dim.constant()) {
      dims.push_back(*value);
    } else {
      ScalarCode code;
      const int time = code.variable(VarKind::kTime, 0);
      const Section section = code.compile(dim.expr());
      if (code.error()) return *code.error();
      ScalarMachine machine(code);
      machine[time].integer = context.time;
      for (size_t k = 0; k < code.buffers().size(); ++k)
        machine.views()[k] = View::of((*context.buffers)(code.buffers()[k]));
      if (!machine.run(section)) return invalid("", "{}", machine.failure());
      dims.push_back(machine[section.result].integer);
    }
    if (dims.back() < 0) return invalid("", "an extent of at least 0 expected, {} found", dims.back());
  }
  return dims;
}

std::vector<PlannedMapReduce::Signature> PlannedMapReduce::signatures(const RunContext& context) const {
  std::vector<Signature> result;
  for (const BufferRef& ref : plan_->buffers()) {
    const Array& array = (*context.buffers)(ref);
    result.push_back({array.dims(), array.storage()});
  }
  return result;
}

Result<void> PlannedMapReduce::prepare(const RunContext& context, int64_t trip) {
  Domain domain{{}, {}, trip};
  TRY(domain.axes, evaluate_dims(stage_.axes, context));
  TRY(domain.reduce, evaluate_dims(stage_.reduce, context));
  if (plan_ && domain == domain_ && signatures(context) == planned_for_) return {};
  domain_ = std::move(domain);
  plan_.reset();
  TRY(plan_, plan_stage(stage_, domain_, *context.buffers));
  planned_for_ = signatures(context);
  return {};
}

Result<void> PlannedMapReduce::run_into(const RunContext& context, std::span<void* const> outputs) {
  return plan_->run(context, outputs);
}

Result<std::vector<Array>> PlannedMapReduce::run(const RunContext& context) {
  TRY_VOID(prepare(context));
  std::vector<Array> arrays;
  std::vector<void*> outputs;
  for (const Expr& body : stage_.bodies) {
    TRY(Array array, Array::allocate(body.dtype(), domain_.axes, context.memory));
    outputs.push_back(array.mutable_data());
    arrays.push_back(std::move(array));
  }
  TRY_VOID(run_into(context, outputs));
  return arrays;
}

}  // namespace isomer::te::interpreter
