#include "driver/operator_places.h"

#include <algorithm>

#include "graph/te/print.h"
#include "graph/te/simplify.h"

namespace isomer {
namespace {

using te::Expr;

/// Iterators of a stage, by their kind.
struct Extents {
  Shape axes, reduce, time;
};

const Shape* extents_of(const Extents& extents, te::VarKind kind) {
  switch (kind) {
    case te::VarKind::kSpatial: return &extents.axes;
    case te::VarKind::kReduce: return &extents.reduce;
    case te::VarKind::kTime: return &extents.time;
    default: return nullptr;
  }
}

te::Ranges ranges_of(const Extents& extents) {
  return [&extents](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    const Shape* shape = variable ? extents_of(extents, variable->kind) : nullptr;
    if (!shape || variable->index >= static_cast<int>(shape->size())) return {};
    const auto size = (*shape)[variable->index].constant();
    return {0, size ? std::optional(*size - 1) : std::nullopt};
  };
}

/// Expressions that are not negative where the condition holds (or does not).
void add_slacks(const Expr& condition, bool holds, std::vector<Expr>& slacks) {
  if (const auto* negated = te::as<te::Unary>(condition)) {
    if (negated->op == te::UnaryOp::kNot) add_slacks(negated->operand, !holds, slacks);
    return;
  }
  const auto* binary = te::as<te::Binary>(condition);
  if (!binary) return;
  const auto& [op, left, right] = *binary;
  if (op == (holds ? te::BinaryOp::kAnd : te::BinaryOp::kOr)) {
    add_slacks(left, holds, slacks);
    add_slacks(right, holds, slacks);
  }
  if (left.dtype() != DataType::kInt64) return;
  if (op == te::BinaryOp::kLess) slacks.push_back(holds ? right - left - 1 : left - right);
  if (op == te::BinaryOp::kLessEqual) slacks.push_back(holds ? right - left : left - right - 1);
  if (op == te::BinaryOp::kEqual && holds) slacks.insert(slacks.end(), {left - right, right - left});
}

class Places {
 public:
  Places(const te::Program& program, const OpContext& context) : program_(program), context_(context) {}

  Result<void> check() {
    for (const te::Stage& stage : program_.stages) {
      if (const auto* map = std::get_if<te::MapReduce>(&stage.body)) TRY_VOID(check(*map, {}));
      if (const auto* scan = std::get_if<te::Scan>(&stage.body)) TRY_VOID(check(*scan));
    }
    return {};
  }

 private:
  Result<void> check(const te::Scan& scan) {
    scan_ = &scan;
    for (const te::Scan::State& state : scan.states) TRY_VOID(check(state.init, {state.shape, {}, {}}));
    for (const te::MapReduce& step : scan.steps) TRY_VOID(check(step, {scan.trip}));
    return {};
  }

  Result<void> check(const te::MapReduce& stage, const Shape& time) {
    for (const Expr& body : stage.bodies) TRY_VOID(check(body, {stage.axes, stage.reduce, time}));
    return {};
  }

  Result<void> check(const Expr& body, const Extents& extents) {
    for (const Shape* shape : {&extents.axes, &extents.reduce, &extents.time})
      if (std::ranges::any_of(*shape, [](const Dim& dim) { return dim.is(0); })) return {};
    ranges_ = ranges_of(extents);
    std::vector<Expr> slacks;
    return walk(body, slacks);
  }

  /// `slacks` are not negative where the expression is evaluated.
  Result<void> walk(const Expr& expr, std::vector<Expr>& slacks) {
    if (const auto* select = te::as<te::Select>(expr)) {
      TRY_VOID(walk(select->condition, slacks));
      const size_t before = slacks.size();
      for (const bool holds : {true, false}) {
        add_slacks(select->condition, holds, slacks);
        TRY_VOID(walk(holds ? select->then : select->otherwise, slacks));
        slacks.resize(before);
      }
      return {};
    }
    if (const auto* load = te::as<te::Load>(expr)) TRY_VOID(check(*load, slacks));
    for (const Expr& child : te::detail::children(expr)) TRY_VOID(walk(child, slacks));
    return {};
  }

  Result<void> check(const te::Load& load, const std::vector<Expr>& slacks) const {
    const Shape shape = shape_of(load.buffer);
    for (size_t k = 0; k < shape.size(); ++k) {
      const auto size = shape[k].constant();
      const Expr& index = load.index[k];
      if (!size || te::has_load(index)) continue;
      if (!is_proved(index, slacks) || !is_proved(te::Number(*size - 1) - index, slacks))
        return context_.invalid(
            "an index in [0, {}) along axis {} of what is read expected, by the index itself or a comparison of it in "
            "a "
            "select around it, {} found",
            *size, k, te::print(index));
    }
    return {};
  }

  /// That it is not negative.
  bool is_proved(const Expr& expr, const std::vector<Expr>& slacks) const {
    const auto is_never_negative = [&](const Expr& each) {
      const te::Interval range = te::bounds(te::simplify_index(each, ranges_), ranges_);
      return range.low && *range.low >= 0;
    };
    return is_never_negative(expr) ||
           std::ranges::any_of(slacks, [&](const Expr& slack) { return is_never_negative(expr - slack); });
  }

  Shape shape_of(const te::BufferRef& buffer) const {
    switch (buffer.kind) {
      case te::BufferRef::Kind::kInput: return context_.shape(buffer.index);
      case te::BufferRef::Kind::kStage: return program_.stages[buffer.index].shape(buffer.component);
      case te::BufferRef::Kind::kInner: return scan_->steps[buffer.index].axes;
      case te::BufferRef::Kind::kState: return scan_->states[buffer.index].shape;
      case te::BufferRef::Kind::kLocal: break;
    }
    return {};
  }

  const te::Program& program_;
  const OpContext& context_;
  const te::Scan* scan_ = nullptr;
  te::Ranges ranges_;
};

}  // namespace

Result<void> check_places(const te::Program& program, const OpContext& context) {
  return Places(program, context).check();
}

}  // namespace isomer
