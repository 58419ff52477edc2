#include "graph/te/symbolic.h"

#include <algorithm>

#include "graph/te/evaluator.h"
#include "graph/te/symbolic_scalars.h"

namespace isomer::te {
namespace {

constexpr size_t kMaxElements = 1024;
/// Of stages on the way to an output, and of the whole evaluation: inference asks for every node of a model.
constexpr EvaluationLimits kLimits{.elements = 4096, .steps = 1 << 16};

/// Rules out, without evaluating, what can only be unknown: every element of it reads an unknown input.
class Knowledge {
 public:
  Knowledge(const Program& program, std::vector<bool> inputs)
      : program_(program), inputs_(std::move(inputs)), stages_(program.stages.size()) {}

  bool may_know(const StageValue& value) {
    auto& known = stages_[value.stage];
    if (!known) {
      known = true;
      known = std::visit([&](const auto& stage) { return may_know(stage); }, program_.stages[value.stage].body);
    }
    return *known;
  }

 private:
  bool may_know(const MapReduce& stage) {
    return std::any_of(stage.bodies.begin(), stage.bodies.end(), [&](const Expr& e) { return may_know(e); });
  }
  bool may_know(const Scan&) { return true; }
  bool may_know(const Update& stage) { return may_know(stage.init) || may_know(stage.value); }
  bool may_know(const Imperative&) { return true; }

  bool may_know(const Expr& expr) {
    return visit(
        expr, [](const Literal&) { return true; }, [](const Var&) { return true; }, [](const Symbol&) { return true; },
        [&](const Unary& e) { return may_know(e.operand); },
        [&](const Binary& e) {
          const bool either = e.op == BinaryOp::kAnd || e.op == BinaryOp::kOr;
          return either ? may_know(e.left) || may_know(e.right) : may_know(e.left) && may_know(e.right);
        },
        [&](const Select& e) { return may_know(e.then) || may_know(e.otherwise); },
        [&](const Cast& e) { return may_know(e.operand); },
        [&](const Load& e) {
          if (e.buffer.kind == BufferRef::Kind::kInput && !inputs_[e.buffer.index]) return false;
          if (e.buffer.kind == BufferRef::Kind::kStage && !may_know(StageValue{e.buffer.index, 0})) return false;
          return std::all_of(e.index.begin(), e.index.end(), [&](const Expr& i) { return may_know(i); });
        });
  }

  const Program& program_;
  std::vector<bool> inputs_;
  std::vector<std::optional<bool>> stages_;
};

}  // namespace

std::optional<std::vector<std::optional<Dim>>> symbolic_contents(
    const Program& program, int output, const std::vector<const std::vector<std::optional<Dim>>*>& inputs,
    const std::vector<Shape>& input_shapes) {
  const StageValue& value = program.outputs[output];
  if (value.stage < 0) return std::nullopt;
  std::vector<bool> known;
  for (const auto* elements : inputs) known.push_back(elements != nullptr);
  if (!Knowledge(program, known).may_know(value)) return std::nullopt;

  std::vector<Values<std::optional<Dim>>> contents(inputs.size());
  std::vector<const Values<std::optional<Dim>>*> given(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const auto dims = constants(input_shapes[i]);
    if (!dims || element_count(*dims) != static_cast<int64_t>(inputs[i]->size())) return std::nullopt;
    contents[i] = {DataType::kUndefined, *dims, *inputs[i]};
    given[i] = &contents[i];
  }
  const SymbolicScalars scalars;
  Evaluator<const SymbolicScalars> evaluator(program, scalars, std::move(given), kLimits);
  try {
    std::vector<std::optional<Dim>> elements = evaluator.value(value).elements;
    const bool useful = std::any_of(elements.begin(), elements.end(), [](const auto& e) { return e.has_value(); });
    if (!useful || elements.size() > kMaxElements) return std::nullopt;
    return elements;
  } catch (const Failure&) {
    return std::nullopt;
  }
}

}  // namespace isomer::te
