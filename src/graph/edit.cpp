#include "graph/edit.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "graph/infer.h"
#include "util/check.h"

namespace isomer {
namespace {

constexpr int64_t kSmallBytes = 1024;

bool contains(const std::vector<ValueId>& list, ValueId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

Node node_of(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) {
  Node node;
  node.op = find_op(op_type);
  CHECK(node.op != nullptr) << op_type;
  node.domain = node.op->domain;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return node;
}

/// The operator that gives a value of this type on as it is.
const OpDef& identity_of(const ValueType& type) {
  const ElementMap map = identity_map(type);
  const auto gives_on = [&](const OpDef* op) {
    const auto spelling = op->spell ? op->spell(map) : std::nullopt;
    return spelling && spelling->lists.empty() && spelling->attributes.empty();
  };
  const auto found = std::find_if(all_ops().begin(), all_ops().end(), gives_on);
  CHECK(found != all_ops().end()) << "no operator gives on a value of type " << type.text();
  return **found;
}

/// Infers a node that we made; a row that does not support it is an error here.
Result<void> infer_made(Graph& graph, NodeId id) {
  TRY_VOID(infer_node(graph, id));
  if (graph.node(id).is_opaque()) return unsupported(label(graph, id), "{}", graph.node(id).opaque_reason);
  return {};
}

/// What both say of one value; nothing where they contradict each other.
std::optional<ValueType> sharper(const ValueType& a, const ValueType& b) {
  if (!b.is_tensor() || a.dtype != b.dtype) return std::nullopt;
  if (!a.shape || !b.shape) return a.shape ? a : b;
  if (a.shape->size() != b.shape->size()) return std::nullopt;
  ValueType both = b;
  for (size_t k = 0; k < a.shape->size(); ++k) {
    Dim& dim = (*both.shape)[k];
    if (dim.is_constant() && (*a.shape)[k].is_constant() && !(dim == (*a.shape)[k])) return std::nullopt;
    if (!dim.is_constant()) dim = (*a.shape)[k];
  }
  return both;
}

}  // namespace

bool Redirects::redirect(ValueId from, ValueId to) {
  if (target_.empty()) {
    uses_ = graph_.use_counts();
    target_.resize(uses_->size());
  }
  for (const ValueId id : {from, to})
    if (static_cast<size_t>(id.index) >= target_.size()) target_.resize(id.index + 1);
  to = resolve(to);
  if (from == to || target_[from.index].valid()) return false;
  if (const NodeId made = graph_.value(from).producer; made.valid() && is_output(graph_, from)) {
    // An Identity that keeps an output's name has done its work; beside a node that stays for its other outputs it
    // would be one node more.
    const Node& node = graph_.node(made);
    const auto uses = [&](ValueId id) {
      return static_cast<size_t>(id.index) < uses_->size() ? (*uses_)[id.index] : 0;
    };
    const bool only_output = uses(from) == 1;
    const bool node_stays = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId other) {
      return other.valid() && other != from && uses(other) > 0;
    });
    const bool stays = !graph_.value(to).producer.valid() || is_output(graph_, to) || named_.contains(to);
    const Value& source = graph_.value(to);
    const bool becomes_constant = graph_.is_constant(to) && source.constant->bytes().size() <= kSmallBytes;
    if (((node.op == &identity_of(source.type) && only_output) || node_stays) && stays && !becomes_constant)
      return false;
    if (!stays) named_.insert(to);
  }
  target_[from.index] = to;
  redirected_.push_back(from);
  return true;
}

ValueId Redirects::resolve(ValueId id) const {
  while (id.valid() && static_cast<size_t>(id.index) < target_.size() && target_[id.index].valid())
    id = target_[id.index];
  return id;
}

void Redirects::apply() {
  if (redirected_.empty()) return;
  struct Identity {
    ValueId from, to;
  };
  std::vector<Identity> identities;
  for (const ValueId from : redirected_) {
    if (!is_output(graph_, from)) continue;
    const ValueId to = resolve(from);
    if (from == to) continue;
    const Value& source = graph_.value(to);
    if (source.producer.valid() && !is_output(graph_, to)) {
      // The producer of `to` makes `from` instead, and everybody reads that.
      const NodeId made = source.producer;
      const int index = source.output_index;
      release(graph_, from);
      Value& named = graph_.edit(from);
      named.type = source.type;
      named.content = source.content;
      graph_.set_output(made, index, from);
      target_[from.index] = {};
      target_[to.index] = from;
    } else if (graph_.is_constant(to) &&
               (source.constant->count() * bit_width(source.constant->dtype()) / 8 <= kSmallBytes)) {
      release(graph_, from);
      Value& named = graph_.edit(from);
      named.constant = source.constant;
      named.type = source.type;
      named.content = source.content;
    } else {
      release(graph_, from);
      identities.push_back({from, to});
    }
  }
  for (const NodeId id : graph_.nodes()) {
    const auto moved = [&](ValueId read) { return resolve(read) != read; };
    const Node& node = graph_.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), moved) &&
        std::none_of(node.captures.begin(), node.captures.end(), moved))
      continue;
    Node& edited = graph_.edit(id);
    for (ValueId& read : edited.inputs) read = resolve(read);
    for (ValueId& read : edited.captures) read = resolve(read);
  }
  for (const auto& [from, to] : identities) {
    Node node = node_of(identity_of(graph_.value(from).type).name, {resolve(to)}, {});
    node.outputs = {from};
    graph_.add_node(std::move(node));
  }
  target_.clear();
  redirected_.clear();
}

void release(Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid()) return;
  Value unread;
  unread.name = graph.fresh_name(graph.value(value).name);
  unread.type = graph.value(value).type;
  const int index = graph.value(value).output_index;
  graph.set_output(producer, index, graph.add_value(std::move(unread)));
}

Result<ValueId> emit(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes,
                     std::string_view name) {
  Node node = node_of(op_type, std::move(inputs), std::move(attributes));
  node.name = name;
  Value value;
  value.name = graph.fresh_name(name.empty() ? op_type : name);
  const ValueId output = graph.add_value(std::move(value));
  node.outputs = {output};
  TRY_VOID(infer_made(graph, graph.add_node(std::move(node))));
  return output;
}

Result<void> rewrite(Graph& graph, NodeId id, std::string_view op_type, std::vector<ValueId> inputs,
                     Attributes attributes) {
  Node made = node_of(op_type, std::move(inputs), std::move(attributes));
  Node& node = graph.edit(id);
  node.op = made.op;
  node.domain.clear();
  node.op_type = std::move(made.op_type);
  node.inputs = std::move(made.inputs);
  node.captures.clear();
  node.attributes = std::move(made.attributes);
  node.opaque_reason.clear();
  while (!node.outputs.empty() && !node.outputs.back().valid()) node.outputs.pop_back();
  std::vector<ValueType> before;
  for (const ValueId output : graph.node(id).outputs)
    before.push_back(output.valid() ? graph.value(output).type : ValueType());
  TRY_VOID(infer_made(graph, id));
  for (size_t i = 0; i < before.size(); ++i) {
    const ValueId output = graph.node(id).outputs[i];
    if (!output.valid() || !before[i].is_tensor()) continue;
    const auto type = sharper(before[i], graph.value(output).type);
    if (!type)
      return invalid(label(graph, id), "output of type {} expected, {} found", before[i].text(),
                     graph.value(output).type.text());
    graph.edit(output).type = *type;
  }
  return {};
}

ValueId emit_constant(Graph& graph, Tensor tensor, std::string_view hint) {
  return graph.add_constant(std::move(tensor), graph.fresh_name(hint));
}

ValueId emit_ints(Graph& graph, std::vector<int64_t> values, std::string_view hint) {
  return emit_constant(graph, Tensor::int64s(std::move(values)), hint);
}

bool is_op(const Node& node, std::string_view op_type) {
  return node.op && node.op->domain.empty() && node.op->name == op_type;
}

bool dequantizes(const OpDef& op) { return op.name == "DequantizeLinear"; }

const Node* producer(const Graph& graph, ValueId value, std::string_view op_type) {
  if (!value.valid() || !graph.value(value).producer.valid()) return nullptr;
  const Node& node = graph.node(graph.value(value).producer);
  return is_op(node, op_type) ? &node : nullptr;
}

const Tensor* constant_of(const Graph& graph, ValueId value) {
  return value.valid() && graph.is_constant(value) ? &*graph.value(value).constant : nullptr;
}

bool is_output(const Graph& graph, ValueId value) { return contains(graph.outputs(), value); }
bool is_input(const Graph& graph, ValueId value) { return contains(graph.inputs(), value); }
ValueId input_of(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : ValueId(); }

bool same_type(const Graph& graph, ValueId a, ValueId b) {
  const ValueType &left = graph.value(a).type, &right = graph.value(b).type;
  return left.has_shape() && right.has_shape() && left.dtype == right.dtype && left.shape == right.shape;
}

bool is_splat(const Tensor& tensor) {
  const auto width = static_cast<std::ptrdiff_t>(bit_width(tensor.dtype()) / 8);
  const auto bytes = tensor.bytes();
  return width > 0 && !bytes.empty() && std::equal(bytes.begin() + width, bytes.end(), bytes.begin());
}

Tensor first_element(const Tensor& tensor) {
  const auto bytes = tensor.bytes().first(bit_width(tensor.dtype()) / 8);
  return Tensor(tensor.dtype(), {}, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

Result<int> for_each_body(Graph& graph, const std::function<Result<int>(Graph& body, NodeId node)>& edit) {
  int changes = 0;
  for (const NodeId id : graph.nodes()) {
    const Attributes& attributes = graph.node(id).attributes;
    const bool has_body = std::any_of(attributes.begin(), attributes.end(), [](const auto& entry) {
      return std::holds_alternative<GraphPtr>(entry.second) ||
             std::holds_alternative<std::vector<GraphPtr>>(entry.second);
    });
    if (!has_body) continue;
    Attributes edited = attributes;
    int here = 0;
    const auto visit = [&](GraphPtr& body) -> Result<void> {
      Graph copy = *body;
      copy.share_info(graph);
      TRY(const int changed, edit(copy, id));
      here += changed;
      if (changed) body = std::make_shared<const Graph>(std::move(copy));
      return {};
    };
    for (auto& [name, attribute] : edited) {
      if (auto* body = std::get_if<GraphPtr>(&attribute)) TRY_VOID(visit(*body));
      if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (GraphPtr& body : *bodies) TRY_VOID(visit(body));
    }
    if (here) graph.edit(id).attributes = std::move(edited);
    changes += here;
  }
  return changes;
}

Result<void> infer_all(Graph& graph) {
  TRY_VOID(infer(graph));
  for (const NodeId id : graph.nodes()) {
    Attributes attributes = graph.node(id).attributes;
    bool has_body = false;
    const auto refresh = [&](GraphPtr& body) -> Result<void> {
      has_body = true;
      Graph copy = *body;
      const std::vector<ValueId>& captures = graph.node(id).captures;
      for (size_t i = 0; i < captures.size() && i < copy.captures().size(); ++i) {
        const Value& captured = graph.value(captures[i]);
        Value& formal = copy.edit(copy.captures()[i]);
        formal.type = captured.type;
        formal.content = captured.content;
      }
      if (const auto done = infer_all(copy); !done.ok())
        return done.error().kind == ErrorKind::kInvalid ? Result<void>() : done;
      body = std::make_shared<const Graph>(std::move(copy));
      return {};
    };
    for (auto& [name, attribute] : attributes) {
      if (auto* body = std::get_if<GraphPtr>(&attribute)) TRY_VOID(refresh(*body));
      if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (GraphPtr& body : *bodies) TRY_VOID(refresh(body));
    }
    if (has_body) graph.edit(id).attributes = std::move(attributes);
  }
  return {};
}

namespace {

template <class OnNode, class OnTensor>
void walk(const Graph& graph, const OnNode& on_node, const OnTensor& on_tensor) {
  for (const ValueId id : graph.values())
    if (graph.value(id).constant) on_tensor(*graph.value(id).constant);
  const auto item = te::Overloaded{
      [&](const Tensor& tensor) { on_tensor(tensor); },
      [&](const GraphPtr& body) { walk(*body, on_node, on_tensor); },
      [](const auto&) {},
  };
  for (const NodeId id : graph.nodes()) {
    on_node();
    for (const auto& [name, attribute] : graph.node(id).attributes)
      std::visit(te::Overloaded{item,
                                [&]<class T>(const std::vector<T>& list) {
                                  for (const T& each : list) item(each);
                                }},
                 attribute);
  }
}

}  // namespace

int count_nodes(const Graph& graph) {
  int nodes = 0;
  walk(graph, [&] { ++nodes; }, [](const Tensor&) {});
  return nodes;
}

int64_t count_bytes(const Graph& graph) {
  std::unordered_set<const void*> views;
  std::map<std::pair<DataType, Dims>, std::vector<Tensor>> alike;
  walk(
      graph, [] {},
      [&](const Tensor& tensor) {
        if (tensor.dtype() != DataType::kString && !tensor.bytes().empty() &&
            views.insert(tensor.bytes().data()).second)
          alike[{tensor.dtype(), tensor.dims()}].push_back(tensor);
      });
  // Only tensors of one type can be equal: those that are alone need not be read.
  int64_t bytes = 0;
  for (const auto& [type, tensors] : alike) {
    std::unordered_set<Hash128> contents;
    if (tensors.size() > 1)
      for (const Tensor& tensor : tensors) contents.insert(tensor.content_hash());
    bytes += static_cast<int64_t>(tensors[0].bytes().size() * (tensors.size() > 1 ? contents.size() : 1));
  }
  return bytes;
}

void forget_elements(Graph& graph, ValueId constant) {
  graph.edit(constant).constant.reset();
  graph.edit(constant).content.reset();
  const auto done = for_each_body(graph, [&](Graph& body, NodeId node) -> Result<int> {
    const std::vector<ValueId>& captures = graph.node(node).captures;
    int changes = 0;
    for (size_t k = 0; k < captures.size(); ++k)
      if (captures[k] == constant) {
        forget_elements(body, body.captures()[k]);
        ++changes;
      }
    return changes;
  });
  CHECK(done.ok());
}

void forget_stated_types(Graph& graph, Stated what) {
  for (const ValueId id : graph.values())
    if (what == Stated::kAll && graph.value(id).producer.valid()) {
      Value& value = graph.edit(id);
      value.type = ValueType();
      value.content.reset();
    }
  for (const NodeId id : graph.nodes()) {
    Attributes attributes = graph.node(id).attributes;
    bool has_body = false;
    const auto forget = [&](GraphPtr& body) {
      Graph copy = *body;
      forget_stated_types(copy);
      body = std::make_shared<const Graph>(std::move(copy));
      has_body = true;
    };
    for (auto& [name, attribute] : attributes) {
      if (auto* body = std::get_if<GraphPtr>(&attribute)) forget(*body);
      if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        std::for_each(bodies->begin(), bodies->end(), forget);
    }
    if (has_body) graph.edit(id).attributes = std::move(attributes);
  }
}

}  // namespace isomer
