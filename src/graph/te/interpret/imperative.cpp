#include <cstring>
#include <set>
#include <variant>

#include "graph/te/interpret/stages.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

struct Step;
using Steps = std::vector<Step>;

/// A statement with its expressions compiled. Lists of sections are one piece of code: running the first runs all.
struct Step {
  struct Loop {
    int counter;
    Section extent;
    Steps body;
  };
  struct Repeat {
    Section condition;
    Steps body;
  };
  struct Branch {
    Section condition;
    Steps then, otherwise;
  };
  struct Write {
    int local;
    std::vector<Section> index_and_value;
  };
  struct Size {
    int local;
    std::vector<Section> extents;
  };
  std::variant<Loop, Repeat, Branch, Write, Size> body;
};

class Compiler {
 public:
  explicit Compiler(ScalarCode& code) : code_(code) {}
  Steps compile(const Block& block) {
    Steps steps;
    for (const Statement& statement : block)
      steps.push_back(
          {std::visit([&](const auto& body) -> decltype(Step::body) { return compile(body); }, statement.body)});
    return steps;
  }

 private:
  Step::Loop compile(const For& s) {
    return {code_.variable(VarKind::kLoop, s.loop), code_.compile(s.extent), compile(*s.body)};
  }
  Step::Repeat compile(const While& s) { return {code_.compile(s.condition), compile(*s.body)}; }
  Step::Branch compile(const If& s) {
    return {code_.compile(s.condition), compile(*s.then), s.otherwise ? compile(*s.otherwise) : Steps()};
  }
  Step::Write compile(const Store& s) {
    std::vector<Expr> exprs = s.index;
    exprs.push_back(s.value);
    return {s.local, code_.compile(exprs)};
  }
  Step::Size compile(const Resize& s) { return {s.local, code_.compile(s.extents)}; }

  ScalarCode& code_;
};

class PlannedImperative : public PlannedStage {
 public:
  explicit PlannedImperative(const Imperative& stage)
      : stage_(stage), steps_(Compiler(code_).compile(stage.body.block)) {
    find_resized(steps_);
  }

  Result<std::vector<Array>> run(const RunContext& context) override {
    if (code_.error()) return *code_.error();
    memory_limit_ = context.memory;
    ScalarMachine machine(code_);
    for (size_t k = 0; k < code_.buffers().size(); ++k)
      if (const BufferRef& ref = code_.buffers()[k]; ref.kind != BufferRef::Kind::kLocal)
        machine.views()[k] = View::of((*context.buffers)(ref));
    locals_.assign(stage_.body.locals.size(), {});
    memory_.assign(locals_.size(), nullptr);
    for (size_t k = 0; k < locals_.size(); ++k) {
      const Local& local = stage_.body.locals[k];
      Dims dims(local.shape.size(), 0);
      if (!resized_.contains(static_cast<int>(k))) {
        TRY(dims, evaluate_dims(local.shape, context));
      }
      TRY_VOID(resize(static_cast<int>(k), std::move(dims), machine));
    }
    TRY_VOID(run(steps_, machine));
    std::vector<Array> outputs;
    for (const int local : stage_.outputs) outputs.push_back(locals_[local]);
    locals_.clear();
    return outputs;
  }

 private:
  void find_resized(const Steps& steps) {
    for (const Step& step : steps)
      std::visit(Overloaded{[&](const Step::Loop& s) { find_resized(s.body); },
                            [&](const Step::Repeat& s) { find_resized(s.body); },
                            [&](const Step::Branch& s) {
                              find_resized(s.then);
                              find_resized(s.otherwise);
                            },
                            [&](const Step::Write&) {}, [&](const Step::Size& s) { resized_.insert(s.local); }},
                 step.body);
  }

  /// Zeroes, of these dims.
  Result<void> resize(int local, Dims dims, ScalarMachine& machine) {
    TRY(locals_[local], Array::allocate(stage_.body.locals[local].dtype, std::move(dims), memory_limit_));
    memory_[local] = static_cast<Cell*>(locals_[local].mutable_data());
    std::memset(static_cast<void*>(memory_[local]), 0, locals_[local].count() * sizeof(Cell));
    for (size_t k = 0; k < code_.buffers().size(); ++k)
      if (code_.buffers()[k] == BufferRef{BufferRef::Kind::kLocal, local, 0})
        machine.views()[k] = View::of(locals_[local]);
    return {};
  }

  static Result<void> evaluate(const Section& section, ScalarMachine& machine) {
    if (!machine.run(section)) return invalid("", "{}", machine.failure());
    return {};
  }

  Result<void> run(const Steps& steps, ScalarMachine& machine) {
    for (const Step& step : steps)
      TRY_VOID(std::visit([&](const auto& body) { return run(body, machine); }, step.body));
    return {};
  }
  Result<void> run(const Step::Loop& s, ScalarMachine& machine) {
    TRY_VOID(evaluate(s.extent, machine));
    const int64_t extent = machine[s.extent.result].integer;
    if (extent < 0) return invalid("", "an extent of at least 0 expected, {} found", extent);
    for (int64_t i = 0; i < extent; ++i) {
      machine[s.counter].integer = i;
      TRY_VOID(run(s.body, machine));
    }
    return {};
  }
  Result<void> run(const Step::Repeat& s, ScalarMachine& machine) {
    while (true) {
      TRY_VOID(evaluate(s.condition, machine));
      if (machine[s.condition.result].integer == 0) return {};
      TRY_VOID(run(s.body, machine));
    }
  }
  Result<void> run(const Step::Branch& s, ScalarMachine& machine) {
    TRY_VOID(evaluate(s.condition, machine));
    return run(machine[s.condition.result].integer != 0 ? s.then : s.otherwise, machine);
  }
  Result<void> run(const Step::Write& s, ScalarMachine& machine) {
    TRY_VOID(evaluate(s.index_and_value[0], machine));
    const Dims& dims = locals_[s.local].dims();
    int64_t element = 0;
    for (size_t k = 0; k < dims.size(); ++k) {
      const int64_t index = machine[s.index_and_value[k].result].integer;
      if (index < 0 || index >= dims[k])
        return invalid("", "{}",
                       out_of_range({BufferRef::Kind::kLocal, s.local, 0}, static_cast<int>(k), index, dims[k]));
      element = element * dims[k] + index;
    }
    memory_[s.local][element] = machine[s.index_and_value.back().result];
    return {};
  }
  Result<void> run(const Step::Size& s, ScalarMachine& machine) {
    Dims dims;
    if (!s.extents.empty()) TRY_VOID(evaluate(s.extents[0], machine));
    for (const Section& extent : s.extents) {
      dims.push_back(machine[extent.result].integer);
      if (dims.back() < 0) return invalid("", "an extent of at least 0 expected, {} found", dims.back());
    }
    return resize(s.local, std::move(dims), machine);
  }

  const Imperative& stage_;
  ScalarCode code_;
  const Steps steps_;
  std::set<int> resized_;  ///< locals that have no extents before a Resize
  std::vector<Array> locals_;
  std::vector<Cell*> memory_;
  MemoryLimit memory_limit_;  ///< of this run
};

}  // namespace

std::unique_ptr<PlannedStage> make_stage(const Imperative& imperative) {
  return std::make_unique<PlannedImperative>(imperative);
}

}  // namespace isomer::te::interpreter
