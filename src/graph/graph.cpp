#include "graph/graph.h"

#include <algorithm>

#include "util/check.h"

namespace isomer {
namespace {

/// The object behind a shared pointer, copied first when somebody else holds it too.
template <class T>
T& unshared(std::shared_ptr<T>& pointer) {
  if (pointer.use_count() > 1) pointer = std::make_shared<T>(*pointer);
  return *pointer;
}

template <class IdType, class T>
std::vector<IdType> living(const std::vector<std::shared_ptr<T>>& items) {
  std::vector<IdType> ids;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i]) ids.push_back({static_cast<int32_t>(i)});
  return ids;
}

template <class T, class IdType>
bool lives(const std::vector<std::shared_ptr<T>>& items, IdType id) {
  return id.valid() && static_cast<size_t>(id.index) < items.size() && items[id.index] != nullptr;
}

}  // namespace

std::string ValueType::text() const {
  switch (kind) {
    case Kind::kUnknown: return "unknown";
    case Kind::kOther: return "other";
    case Kind::kTensor: return fmt::format("{}{}", isomer::name(dtype), shape ? isomer::text(*shape) : "[?]");
  }
  return {};
}

std::optional<Tensor> known_tensor(const Value& value) {
  if (!value.content || !value.type.has_shape()) return std::nullopt;
  const auto dims = constants(*value.type.shape);
  if (!dims || element_count(*dims) != static_cast<int64_t>(value.content->size())) return std::nullopt;
  std::vector<int64_t> elements;
  for (const auto& element : *value.content) {
    if (!element || !element->is_constant()) return std::nullopt;
    elements.push_back(element->value());
  }
  return Tensor::from_ints(value.type.dtype, *dims, elements);
}

std::optional<Content> content_of(const Tensor& tensor) {
  const bool integral = is_int(tensor.dtype()) || tensor.dtype() == DataType::kBool;
  if (!integral || tensor.count() > kMaxContent) return std::nullopt;
  Content content;
  for (const int64_t value : tensor.integers()) content.emplace_back(Dim(value));
  return content;
}

int64_t ModelInfo::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 0 : found->second;
}

ModelInfo& Graph::edit_info() { return unshared(info_); }

ValueId Graph::add_value(Value value) {
  value.producer = {};
  values_.push_back(std::make_shared<Value>(std::move(value)));
  return {static_cast<int32_t>(values_.size()) - 1};
}

NodeId Graph::add_node(Node node) {
  const NodeId id{static_cast<int32_t>(nodes_.size())};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    Value& value = edit(node.outputs[i]);
    CHECK(!value.producer.valid()) << "value '" << value.name << "' has a producer";
    value.producer = id;
    value.output_index = static_cast<int>(i);
  }
  nodes_.push_back(std::make_shared<Node>(std::move(node)));
  ++node_count_;
  return id;
}

void Graph::remove_node(NodeId id) {
  for (const ValueId output : node(id).outputs)
    if (output.valid()) edit(output).producer = {};
  nodes_[id.index] = nullptr;
  --node_count_;
}

void Graph::remove_value(ValueId id) {
  CHECK(!value(id).producer.valid()) << "value '" << value(id).name << "' has a producer";
  values_[id.index] = nullptr;
}

void Graph::roll_back(const Mark& mark) {
  for (size_t i = mark.nodes; i < nodes_.size(); ++i)
    if (nodes_[i]) remove_node({static_cast<int32_t>(i)});
  std::fill(values_.begin() + mark.values, values_.end(), nullptr);
}

const Node& Graph::node(NodeId id) const {
  CHECK(contains(id)) << id.index;
  return *nodes_[id.index];
}

const Value& Graph::value(ValueId id) const {
  CHECK(contains(id)) << id.index;
  return *values_[id.index];
}

Node& Graph::edit(NodeId id) {
  CHECK(contains(id)) << id.index;
  return unshared(nodes_[id.index]);
}

Value& Graph::edit(ValueId id) {
  CHECK(contains(id)) << id.index;
  if (static_cast<size_t>(id.index) < names_.values) names_.edited.push_back(id);
  return unshared(values_[id.index]);
}

void Graph::set_output(NodeId id, int index, ValueId value) {
  const ValueId old = node(id).outputs[index];
  if (old.valid()) edit(old).producer = {};
  if (value.valid()) {
    Value& target = edit(value);
    CHECK(!target.producer.valid()) << "value '" << target.name << "' has a producer";
    target.producer = id;
    target.output_index = index;
  }
  edit(id).outputs[index] = value;
}

bool Graph::contains(NodeId id) const { return lives(nodes_, id); }
bool Graph::contains(ValueId id) const { return lives(values_, id); }
std::vector<NodeId> Graph::nodes() const { return living<NodeId>(nodes_); }
std::vector<ValueId> Graph::values() const { return living<ValueId>(values_); }

bool Graph::is_constant(ValueId id) const {
  return value(id).constant.has_value() && std::find(inputs_.begin(), inputs_.end(), id) == inputs_.end();
}

ValueId Graph::add_constant(Tensor tensor, std::string name) {
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  Value value{.name = std::move(name),
              .type = ValueType::tensor(tensor.dtype(), std::move(shape)),
              .content = content_of(tensor),
              .constant = std::move(tensor),
              .declared = {},
              .producer = {},
              .output_index = 0,
              .extra = {}};
  return add_value(std::move(value));
}

std::string Graph::fresh_name(std::string_view hint) {
  if (names_.edited.size() > values_.size()) names_ = Names();
  for (const ValueId id : names_.edited)
    if (contains(id)) names_.known.insert(value(id).name);
  names_.edited.clear();
  for (; names_.values < values_.size(); ++names_.values)
    if (const auto& value = values_[names_.values]) names_.known.insert(value->name);
  const auto last = names_.last_suffix.find(hint);
  int suffix = last == names_.last_suffix.end() ? 0 : last->second + 1;
  std::string name = suffix == 0 ? std::string(hint) : fmt::format("{}_{}", hint, suffix);
  while (names_.known.contains(name)) name = fmt::format("{}_{}", hint, ++suffix);
  names_.last_suffix.insert_or_assign(std::string(hint), suffix);
  return name;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  const auto reads = [&](const std::vector<ValueId>& list) {
    return std::find(list.begin(), list.end(), from) != list.end();
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i] || (!reads(nodes_[i]->inputs) && !reads(nodes_[i]->captures))) continue;
    Node& node = unshared(nodes_[i]);
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(node.captures.begin(), node.captures.end(), from, to);
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

std::vector<int> Graph::use_counts() const {
  std::vector<int> counts(values_.size());
  const auto count = [&](const std::vector<ValueId>& list) {
    for (const ValueId id : list)
      if (id.valid()) ++counts[id.index];
  };
  for (const auto& node : nodes_) {
    if (!node) continue;
    count(node->inputs);
    count(node->captures);
  }
  count(outputs_);
  return counts;
}

std::vector<std::vector<NodeId>> Graph::consumers() const {
  std::vector<std::vector<NodeId>> readers(values_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i]) continue;
    const NodeId id{static_cast<int32_t>(i)};
    for (const auto* list : {&nodes_[i]->inputs, &nodes_[i]->captures})
      for (const ValueId value : *list)
        if (value.valid() && (readers[value.index].empty() || readers[value.index].back() != id))
          readers[value.index].push_back(id);
  }
  return readers;
}

std::string label(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.name.empty() ? fmt::format("node {} ({})", id.index, node.op_type)
                           : fmt::format("{} ({})", node.name, node.op_type);
}

std::string operator_name(const Node& node) {
  return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
}

}  // namespace isomer
