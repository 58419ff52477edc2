#include "graph/te/interpret.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "graph/te/integer.h"
#include "graph/te/interpret/stages.h"
#include "util/check.h"

namespace isomer::te {
namespace {

using namespace interpreter;

/// The stages of the program that expressions read.
class StagesRead {
 public:
  void look(const Expr& expr) {
    if (!expr || !seen_.insert(&*expr).second) return;
    if (const Load* load = as<Load>(expr); load && load->buffer.kind == BufferRef::Kind::kStage)
      read.insert(load->buffer.index);
    for (const Expr& child : detail::children(expr)) look(child);
  }
  void look(const Shape& shape) {
    for (const Dim& dim : shape)
      if (!dim.is_constant()) look(dim.expr());
  }
  void look(const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) look(expr);
  }
  void look(const MapReduce& s) {
    look(s.axes);
    look(s.reduce);
    look(s.bodies);
  }
  void look(const Scan& s) {
    look(Shape{s.trip});
    for (const Scan::State& state : s.states) {
      look(state.shape);
      look(state.init);
    }
    for (const MapReduce& step : s.steps) look(step);
  }
  void look(const Update& s) {
    look(s.shape);
    look(s.init);
    look(s.updates);
    look(s.index);
    look(s.value);
  }
  void look(const Imperative& s) {
    for (const Local& local : s.body.locals) look(local.shape);
    look(s.body.block);
  }
  void look(const Block& block) {
    for (const Statement& statement : block) std::visit([&](const auto& body) { look(body); }, statement.body);
  }
  void look(const For& s) {
    look(s.extent);
    look(*s.body);
  }
  void look(const While& s) {
    look(s.condition);
    look(*s.body);
  }
  void look(const If& s) {
    look(s.condition);
    look(*s.then);
    if (s.otherwise) look(*s.otherwise);
  }
  void look(const Store& s) {
    look(s.index);
    look(s.value);
  }
  void look(const Resize& s) { look(s.extents); }

  std::unordered_set<int> read;

 private:
  std::unordered_set<const ExprNode*> seen_;
};

/// The last stage that reads each stage: the number of stages where an output is its value, -1 where nobody needs it.
std::vector<int> last_uses(const Program& program) {
  const int count = static_cast<int>(program.stages.size());
  std::vector<int> last_use(count, -1);
  for (const StageValue& output : program.outputs)
    if (output.stage >= 0) last_use[output.stage] = count;
  for (int k = count - 1; k >= 0; --k) {
    if (last_use[k] < 0) continue;
    StagesRead reads;
    std::visit([&](const auto& body) { reads.look(body); }, program.stages[k].body);
    for (const int stage : reads.read) {
      CHECK(stage < k) << "stage " << k << " reads stage " << stage;
      if (last_use[stage] < 0) last_use[stage] = k;
    }
  }
  return last_use;
}

/// Arrays of one stage: those that are its value, and those that only its run needs.
class StageMemory {
 public:
  explicit StageMemory(const Stage& stage) { std::visit(*this, stage.body); }

  int64_t kept = 0, passing = 0;
  bool is_complete = true;

  void operator()(const MapReduce& s) { add(kept, s.axes, s.bodies.size()); }
  void operator()(const Scan& s) {
    for (const Scan::State& state : s.states) {
      Shape whole = {s.trip};
      whole.insert(whole.end(), state.shape.begin(), state.shape.end());
      add(kept, whole, 1);
      add(passing, state.shape, 1);
    }
    for (const MapReduce& step : s.steps) add(passing, step.axes, step.bodies.size());
  }
  void operator()(const Update& s) { add(kept, s.shape, 1); }
  void operator()(const Imperative& s) {
    for (size_t k = 0; k < s.body.locals.size(); ++k) {
      const bool is_output = std::find(s.outputs.begin(), s.outputs.end(), static_cast<int>(k)) != s.outputs.end();
      add(is_output ? kept : passing, s.body.locals[k].shape, 1);
    }
  }

 private:
  void add(int64_t& bytes, const Shape& shape, size_t arrays) {
    const auto count = element_count(shape).constant();
    is_complete &= count.has_value();
    if (count) bytes = saturating_add(bytes, saturating_mul(Array::bytes_for(*count), static_cast<int64_t>(arrays)));
  }
};

}  // namespace

ProgramMemory memory_of(const Program& program) {
  const std::vector<int> last_use = last_uses(program);
  ProgramMemory result;
  std::vector<int64_t> kept(program.stages.size());
  int64_t live = 0;
  for (size_t k = 0; k < program.stages.size(); ++k) {
    if (last_use[k] < 0) continue;
    const StageMemory stage(program.stages[k]);
    result.is_complete &= stage.is_complete;
    kept[k] = stage.kept;
    live = saturating_add(live, stage.kept);
    result.peak = std::max(result.peak, saturating_add(live, stage.passing));
    // What saturated stays.
    for (size_t dead = 0; dead < k && live < kSaturated; ++dead)
      if (last_use[dead] == static_cast<int>(k)) live -= kept[dead];
  }
  return result;
}

struct PlannedProgram::State {
  Program program;
  std::vector<std::unique_ptr<PlannedStage>> stages;  ///< none for those that no output needs
  std::vector<std::vector<int>> dead_after;           ///< by stage: those whose values nobody needs any more
};

PlannedProgram::PlannedProgram(Program program) : state_(std::make_unique<State>()) {
  state_->program = std::move(program);
  const auto& stages = state_->program.stages;
  const int count = static_cast<int>(stages.size());
  const std::vector<int> last_use = last_uses(state_->program);
  state_->stages.resize(count);
  state_->dead_after.resize(count);
  for (int k = count - 1; k >= 0; --k) {
    if (last_use[k] < 0) continue;
    if (last_use[k] < count) state_->dead_after[last_use[k]].push_back(k);
    state_->stages[k] = make_stage(stages[k]);
  }
}
PlannedProgram::~PlannedProgram() = default;
PlannedProgram::PlannedProgram(PlannedProgram&&) noexcept = default;

Result<std::vector<Array>> PlannedProgram::run(std::span<const Array> inputs, const InterpretOptions& options) {
  std::optional<ThreadPool> own_pool;
  ThreadPool* pool = options.pool;
  if (!pool && options.threads > 1) pool = &own_pool.emplace(options.threads);

  const auto& stages = state_->stages;
  std::vector<std::vector<Array>> values(stages.size());
  const Buffers buffers = [&](const BufferRef& ref) -> const Array& {
    const bool known = ref.kind == BufferRef::Kind::kInput ? ref.index < static_cast<int>(inputs.size())
                                                           : ref.kind == BufferRef::Kind::kStage;
    CHECK(known) << "a load from " << describe(ref);
    const Array& array =
        ref.kind == BufferRef::Kind::kInput ? inputs[ref.index] : values.at(ref.index).at(ref.component);
    CHECK(!array.empty()) << "a load from " << describe(ref) << ", which is absent";
    return array;
  };
  for (size_t k = 0; k < stages.size(); ++k) {
    if (!stages[k]) continue;
    const RunContext context{&buffers, pool, 0, options.poll, options.memory};
    TRY_VOID(context.ask_to_go_on());
    TRY(values[k], stages[k]->run(context));
    for (const int dead : state_->dead_after[k]) values[dead].clear();
  }
  std::vector<Array> outputs;
  for (const StageValue& output : state_->program.outputs)
    outputs.push_back(output.stage < 0 ? Array() : values[output.stage].at(output.component));
  return outputs;
}

Result<std::vector<Array>> interpret(const Program& program, std::span<const Array> inputs,
                                     const InterpretOptions& options) {
  return PlannedProgram(program).run(inputs, options);
}

namespace interpreter {

std::unique_ptr<PlannedStage> make_stage(const Stage& stage) {
  return std::visit(
      Overloaded{
          [](const MapReduce& s) -> std::unique_ptr<PlannedStage> { return std::make_unique<PlannedMapReduce>(s); },
          [](const Scan& s) { return make_stage(s); }, [](const Update& s) { return make_stage(s); },
          [](const Imperative& s) { return make_stage(s); }},
      stage.body);
}

}  // namespace interpreter
}  // namespace isomer::te
