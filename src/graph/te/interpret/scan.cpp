#include <algorithm>
#include <cstring>

#include "graph/te/interpret/stages.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_constant(); });
}

class PlannedScan : public PlannedStage {
 public:
  explicit PlannedScan(const Scan& scan) : scan_(scan) {
    for (const Scan::State& state : scan.states) inits_.push_back({state.shape, {}, {}, {state.init}});
    for (const MapReduce& init : inits_) planned_inits_.emplace_back(init);
    for (const MapReduce& step : scan.steps) {
      steps_.emplace_back(step);
      fixed_extents_.push_back(is_constant(step.axes) && is_constant(step.reduce));
    }
  }

  Result<std::vector<Array>> run(const RunContext& context) override {
    TRY(const Dims trip, evaluate_dims({scan_.trip}, context));
    std::vector<Array> values;
    std::vector<Cell*> memory;
    states_.clear();
    for (PlannedMapReduce& init : planned_inits_) {
      TRY(std::vector<Array> state, init.run(context));
      Dims dims = {trip[0]};
      dims.insert(dims.end(), state[0].dims().begin(), state[0].dims().end());
      TRY(Array value, Array::allocate(state[0].dtype(), std::move(dims), context.memory));
      memory.push_back(static_cast<Cell*>(value.mutable_data()));
      states_.push_back(std::move(state[0]));
      values.push_back(std::move(value));
    }
    // However many steps there are, none makes an element.
    if (std::all_of(values.begin(), values.end(), [](const Array& value) { return value.count() == 0; })) return values;
    inner_.assign(steps_.size(), {});
    inner_memory_.assign(steps_.size(), {});
    const Buffers buffers = [&](const BufferRef& ref) -> const Array& {
      if (ref.kind == BufferRef::Kind::kState) return states_.at(ref.index);
      if (ref.kind == BufferRef::Kind::kInner) return inner_.at(ref.index).at(ref.component);
      return (*context.buffers)(ref);
    };
    for (int64_t t = 0; t < trip[0]; ++t) {
      TRY_VOID(context.ask_to_go_on());
      const RunContext step{&buffers, context.pool, t, nullptr, context.memory};
      for (size_t k = 0; k < steps_.size(); ++k) TRY_VOID(run_step(k, step, trip[0], values, memory));
      for (size_t k = 0; k < states_.size(); ++k) TRY_VOID(keep_state(k, t, values, memory));
    }
    return values;
  }

 private:
  /// Runs inner stage k; its first component straight into the value of the state that it becomes.
  Result<void> run_step(size_t k, const RunContext& context, int64_t trip, std::vector<Array>& values,
                        const std::vector<Cell*>& memory) {
    PlannedMapReduce& stage = steps_[k];
    if (context.time == 0 || !fixed_extents_[k]) TRY_VOID(stage.prepare(context, trip));
    if (inner_[k].empty() || inner_[k][0].dims() != stage.axes()) TRY_VOID(allocate(k, context.memory));
    std::vector<void*>& outputs = inner_memory_[k];
    const auto state = std::find(scan_.next.begin(), scan_.next.end(), static_cast<int>(k)) - scan_.next.begin();
    if (state < static_cast<std::ptrdiff_t>(states_.size()) && states_[state].dims() == stage.axes()) {
      const int64_t count = element_count(stage.axes());
      outputs[0] = memory[state] + context.time * count;
      inner_[k][0] = values[state].part(context.time * count, stage.axes());
    }
    return stage.run_into(context, outputs);
  }

  Result<void> allocate(size_t k, MemoryLimit memory) {
    inner_[k].clear();
    inner_memory_[k].clear();
    for (const Expr& body : scan_.steps[k].bodies) {
      TRY(Array array, Array::allocate(body.dtype(), steps_[k].axes(), memory));
      inner_memory_[k].push_back(array.mutable_data());
      inner_[k].push_back(std::move(array));
    }
    return {};
  }

  /// State k of the next step is what its inner stage computed in this one.
  Result<void> keep_state(size_t k, int64_t t, std::vector<Array>& values, const std::vector<Cell*>& memory) {
    const Array& next = inner_.at(scan_.next[k]).at(0);
    CHECK(next.dims() == states_[k].dims()) << "state " << k << " changes its shape";
    const int64_t count = next.count();
    Cell* place = memory[k] + t * count;
    if (next.data() != place) std::memcpy(static_cast<void*>(place), next.data(), count * sizeof(Cell));
    states_[k] = values[k].part(t * count, next.dims());
    return {};
  }

  const Scan& scan_;
  std::vector<MapReduce> inits_;
  std::vector<PlannedMapReduce> planned_inits_, steps_;
  std::vector<bool> fixed_extents_;
  std::vector<Array> states_;
  std::vector<std::vector<Array>> inner_;  ///< by inner stage and component, of this step
  std::vector<std::vector<void*>> inner_memory_;
};

}  // namespace

std::unique_ptr<PlannedStage> make_stage(const Scan& scan) { return std::make_unique<PlannedScan>(scan); }

}  // namespace isomer::te::interpreter
