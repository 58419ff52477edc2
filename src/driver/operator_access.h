// What stands behind the classes of include/isomer/operator.h.
#pragma once

#include "graph/op_context.h"
#include "isomer/operator.h"

namespace isomer::detail {

struct NodeState {
  const OpContext& context;
};

struct MeaningState {
  te::Program program;
};

struct StepState {
  const std::vector<te::Scan::State>& states;
  std::vector<te::MapReduce> stages;
};

class OperatorAccess {
 public:
  static te::Expr expr(const Expression& expression) {
    if (!expression.node_) throw NoValue("an expression expected, an empty one found");
    return te::Expr(expression.node_);
  }
  static Expression expression(const te::Expr& expr) {
    Expression made;
    made.node_ = expr.node();
    return made;
  }
  static Dim dim(const Size& size) { return Dim(te::Expr(size.node_)); }
  static Size size(const Dim& dim) {
    Size made;
    made.node_ = dim.expr().node();
    return made;
  }
  static Shape shape(const Sizes& sizes) {
    Shape made;
    for (const Size& each : sizes) made.push_back(dim(each));
    return made;
  }
  static Sizes sizes(const Shape& shape) {
    Sizes made;
    for (const Dim& each : shape) made.push_back(size(each));
    return made;
  }
  /// `load`: of its first element.
  static Stage stage(const te::Expr& load, Sizes shape) {
    Stage made;
    made.load_ = load.node();
    made.shape_ = std::move(shape);
    return made;
  }
  static bool is_computed(const Stage& stage) { return stage.load_ != nullptr; }
  /// Of some element.
  static te::Expr load(const Stage& stage) {
    if (!stage.load_) throw NoValue("a tensor that was computed expected, an empty one found");
    return te::Expr(stage.load_);
  }
  static OperatorNode node(const NodeState& state) { return OperatorNode(state); }
  static Meaning meaning(MeaningState& state) { return Meaning(state); }
  static Recurrence::Step step(StepState& state) { return Recurrence::Step(state); }
};

}  // namespace isomer::detail
