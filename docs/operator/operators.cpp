#include "operators.h"

using isomer::Expected;
using isomer::Expression;
using isomer::Meaning;
using isomer::Operator;
using isomer::OperatorNode;
using isomer::Recurrence;
using isomer::Size;
using isomer::Sizes;
using isomer::Stage;
using isomer::TensorType;

namespace {

isomer::Expressions axes(size_t rank) {
  isomer::Expressions all;
  for (size_t k = 0; k < rank; ++k) all.push_back(isomer::axis(static_cast<int>(k)));
  return all;
}

Expected<std::vector<TensorType>> as_first(const OperatorNode& node) {
  return std::vector{TensorType{node.type(0), node.shape(0)}};
}

}  // namespace

Operator gate() {
  Operator op;
  op.domain = "com.acme";
  op.name = "Gate";
  op.inputs = {"value", "by"};
  op.outputs = {"y"};
  op.attributes = {{"beta", 1.0}};
  op.infer = [](const OperatorNode& node) -> Expected<std::vector<TensorType>> {
    return std::vector{TensorType{node.type(0), node.broadcast_shape()}};
  };
  op.compute = [](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    const Sizes shape = node.broadcast_shape();
    const Expression value = node.element_at(0, shape), by = node.element_at(1, shape);
    return std::vector{meaning.map(shape, value * by / (1.0 + exp(by * -node.real("beta"))))};
  };
  return op;
}

Operator root_mean_square() {
  Operator op;
  op.domain = "com.acme";
  op.name = "RootMeanSquare";
  op.inputs = {"x", "scale?"};
  op.outputs = {"y"};
  op.attributes = {{"epsilon", 1e-5}};
  op.infer = [](const OperatorNode& node) -> Expected<std::vector<TensorType>> {
    if (node.shape(0).empty()) return isomer::Failure{"an input with an axis expected, a scalar found"};
    return as_first(node);
  };
  op.compute = [](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    const Sizes shape = node.shape(0), rows(shape.begin(), shape.end() - 1);
    isomer::Expressions index = axes(rows.size());
    index.push_back(isomer::reduced_axis(0));
    const Expression x = node.element(0, index);
    const Stage squares = meaning.reduce(isomer::Combine::sum, rows, {shape.back()}, x * x);
    const Expression mean = squares.element(axes(rows.size())) / cast("float32", size(shape.back()));
    Expression y = node.element_at(0, shape) / sqrt(mean + node.real("epsilon"));
    if (node.has_input(1)) y = y * node.element_at(1, shape);
    return std::vector{meaning.map(shape, y)};
  };
  return op;
}

Operator moving_average() {
  Operator op;
  op.domain = "com.acme";
  op.name = "MovingAverage";
  op.inputs = {"x"};
  op.outputs = {"y"};
  op.attributes = {{"alpha", 0.1, isomer::OperatorAttribute::Presence::required}};
  op.infer = as_first;
  op.compute = [](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    const Sizes shape = node.shape(0), one(shape.begin() + 1, shape.end());
    const double alpha = node.real("alpha");
    const auto next = [&](Recurrence::Step& step) {
      isomer::Expressions index = axes(one.size());
      const Expression before = step.state(0, index);
      index.insert(index.begin(), step.number());
      return std::vector{step.map(one, before * (1 - alpha) + node.element(0, index) * alpha)};
    };
    return meaning.scan({shape.front(), {{one, isomer::number(0, node.type(0))}}, next});
  };
  return op;
}
