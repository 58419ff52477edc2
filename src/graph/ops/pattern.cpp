#include "graph/ops/pattern.h"

#include <algorithm>

namespace isomer::ops {

const Node* Pattern::node(NodeId id, std::string_view op_type) const {
  const Node& node = graph_.node(id);
  return node.op && node.op->domain.empty() && node.op->name == op_type ? &node : nullptr;
}

const Node* Pattern::producer(ValueId value, std::string_view op_type) const {
  if (!value.valid()) return nullptr;
  const Value& made = graph_.value(value);
  return made.producer.valid() && made.output_index == 0 ? node(made.producer, op_type) : nullptr;
}

bool Pattern::used_once(ValueId value) const {
  int uses = 0;
  const auto count = [&](const std::vector<ValueId>& list) { uses += std::count(list.begin(), list.end(), value); };
  for (const NodeId id : graph_.nodes()) {
    count(graph_.node(id).inputs);
    count(graph_.node(id).captures);
  }
  count(graph_.outputs());
  return uses == 1;
}

const Tensor* Pattern::constant(ValueId value) const {
  return value.valid() && graph_.is_constant(value) ? &*graph_.value(value).constant : nullptr;
}

std::optional<double> Pattern::scalar(ValueId value) const {
  const Tensor* tensor = constant(value);
  if (!tensor || tensor->count() != 1 || !is_float(tensor->dtype())) return std::nullopt;
  return tensor->real(0);
}

std::optional<std::vector<int64_t>> Pattern::ints(ValueId value) const {
  const Tensor* tensor = constant(value);
  if (!tensor || !is_int(tensor->dtype())) return std::nullopt;
  return tensor->integers();
}

std::vector<std::pair<ValueId, ValueId>> Pattern::quotients(ValueId value) const {
  if (const Node* div = producer(value, "Div")) return {{div->inputs[0], div->inputs[1]}};
  std::vector<std::pair<ValueId, ValueId>> found;
  if (const Node* product = producer(value, "Mul"))
    for (const int side : {0, 1}) {
      const ValueId numerator = product->inputs[1 - side], inverse = product->inputs[side];
      const Node* div = producer(inverse, "Div");
      if (const Node* reciprocal = producer(inverse, "Reciprocal"))
        found.emplace_back(numerator, reciprocal->inputs[0]);
      if (div && scalar(div->inputs[0]) == 1.0) found.emplace_back(numerator, div->inputs[1]);
    }
  return found;
}

Node Pattern::make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) const {
  Node node;
  node.op = find_op(op_type);
  node.domain = node.op->domain;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace isomer::ops
