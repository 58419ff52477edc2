#include "graph/node_form.h"

#include <algorithm>
#include <deque>

#include "graph/algorithms.h"
#include "graph/infer.h"
#include "util/check.h"

namespace isomer {
namespace {

/// The version of the row that a file of `opset` uses; nullptr when the opset is older than all.
const Version* version_at(const OpDef& op, int64_t opset) {
  for (const Version& version : op.versions)
    if (version.since <= opset) return &version;
  return nullptr;
}

/// Like reform_node, into the form of an older opset, which the row's newest schema does not describe.
Result<std::vector<NodeId>> lower_node(Graph& graph, NodeId id, const Reform& reform) {
  Node node = graph.node(id);
  graph.remove_node(id);
  NodeForm form(graph, std::move(node));
  TRY_VOID(reform(form));
  return form.finish_lowered();
}

/// A node that came in the form of an older opset, with what that opset can say: what fails with its attributes only
/// fails for one of them.
Result<void> expect_known_attributes(Graph& graph, Node node, const Version& version) {
  if (!version.from_newest || node.attributes.empty()) return {};
  const Graph::Mark before = graph.mark();
  const auto lowered = [&](Node each) {
    NodeForm form(graph, std::move(each));
    Result<void> result = version.from_newest(form);
    graph.roll_back(before);
    return result;
  };
  const Result<void> whole = lowered(node);
  if (whole.ok()) return {};
  node.attributes.clear();
  if (!lowered(node).ok()) return {};
  return Error{ErrorKind::kInvalid, whole.error().where, whole.error().what};
}

/// Removes what made values that were read before and are not any more: an older form may do without.
void remove_unread(Graph& graph, const std::vector<int>& uses_before) {
  std::vector<int> uses = graph.use_counts();
  std::vector<ValueId> unread;
  for (size_t k = 0; k < uses_before.size(); ++k)
    if (const ValueId id{static_cast<int>(k)}; uses_before[k] > 0 && graph.contains(id)) unread.push_back(id);
  while (!unread.empty()) {
    const NodeId producer = graph.value(unread.back()).producer;
    unread.pop_back();
    if (!producer.valid()) continue;
    const Node node = graph.node(producer);
    const auto is_read = [&](ValueId output) { return output.valid() && uses[output.index] > 0; };
    if (std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    graph.remove_node(producer);
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId input : *list)
        if (input.valid() && --uses[input.index] == 0) unread.push_back(input);
  }
}

}  // namespace

NodeForm::NodeForm(Graph& graph, Node node) : graph_(graph), node_(std::move(node)) {}

std::string NodeForm::label() const {
  return node_.name.empty() ? fmt::format("node ({})", node_.op_type)
                            : fmt::format("{} ({})", node_.name, node_.op_type);
}

void NodeForm::set_input(int i, ValueId value) {
  if (i >= input_count()) node_.inputs.resize(i + 1);
  node_.inputs[i] = value;
}

void NodeForm::drop_inputs_from(int first) {
  if (input_count() > first) node_.inputs.resize(first);
}

const ValueType& NodeForm::type(int i) const {
  CHECK(has_input(i)) << label() << " input " << i;
  return graph_.value(node_.inputs[i]).type;
}

int NodeForm::rank(int i) const {
  CHECK(has_rank(i)) << label() << " input " << i;
  return static_cast<int>(type(i).shape->size());
}

const Tensor* NodeForm::constant(int i) const {
  return has_input(i) && graph_.is_constant(node_.inputs[i]) ? &*graph_.value(node_.inputs[i]).constant : nullptr;
}

std::optional<std::vector<int64_t>> NodeForm::ints(int i) const {
  if (const Tensor* tensor = constant(i); tensor && (is_int(tensor->dtype()) || tensor->dtype() == DataType::kBool))
    return tensor->integers();
  if (!has_input(i) || !graph_.value(node_.inputs[i]).content) return std::nullopt;
  std::vector<int64_t> values;
  for (const auto& element : *graph_.value(node_.inputs[i]).content) {
    if (!element || !element->is_constant()) return std::nullopt;
    values.push_back(element->value());
  }
  return values;
}

Result<void> NodeForm::expect_attributes(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (!has(name)) return unsupported("attribute '{}' expected, none found", name);
  return {};
}

template <class T>
Result<std::optional<T>> NodeForm::take(std::string_view name, std::string_view kind) {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return std::optional<T>();
  T* value = std::get_if<T>(&found->second);
  if (!value) return invalid("attribute '{}' of type {} expected", name, kind);
  std::optional<T> taken = std::move(*value);
  node_.attributes.erase(found);
  return taken;
}

Result<std::optional<int64_t>> NodeForm::take_int(std::string_view name) { return take<int64_t>(name, "int"); }
Result<std::optional<float>> NodeForm::take_float(std::string_view name) { return take<float>(name, "float"); }
Result<std::optional<std::string>> NodeForm::take_string(std::string_view name) {
  return take<std::string>(name, "string");
}
Result<std::optional<std::vector<int64_t>>> NodeForm::take_ints(std::string_view name) {
  return take<std::vector<int64_t>>(name, "ints");
}
Result<std::optional<std::vector<float>>> NodeForm::take_floats(std::string_view name) {
  return take<std::vector<float>>(name, "floats");
}

ValueId NodeForm::constant(Tensor tensor, std::string_view hint) {
  return graph_.add_constant(std::move(tensor), graph_.fresh_name(hint));
}

ValueId NodeForm::ints(std::vector<int64_t> values, std::string_view hint) {
  return constant(Tensor::int64s(std::move(values)), hint);
}

ValueId NodeForm::scalar(DataType dtype, double value, std::string_view hint) {
  return constant(Tensor::scalar(dtype, value), hint);
}

Node NodeForm::make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) const {
  Node node;
  node.op = find_op(op_type);
  CHECK(node.op != nullptr) << op_type;
  node.domain = node.op->domain;
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  if (!node_.name.empty()) node.name = fmt::format("{}/{}", node_.name, op_type);
  return node;
}

Result<void> NodeForm::add(Node node) {
  added_.push_back(graph_.add_node(std::move(node)));
  return infer_node(graph_, added_.back());
}

Result<ValueId> NodeForm::emit(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) {
  Node node = make(op_type, std::move(inputs), std::move(attributes));
  const std::string hint = node_.name.empty() ? std::string(op_type) : node.name;
  Value value;
  value.name = graph_.fresh_name(hint);
  const ValueId output = graph_.add_value(std::move(value));
  node.outputs = {output};
  TRY_VOID(add(std::move(node)));
  return output;
}

ValueId NodeForm::detour(int output) {
  const ValueId original = node_.outputs[output];
  Value value;
  value.name = graph_.fresh_name(graph_.value(original).name + "_inner");
  node_.outputs[output] = graph_.add_value(std::move(value));
  return original;
}

void NodeForm::emit_after(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes,
                          ValueId output) {
  Node node = make(op_type, std::move(inputs), std::move(attributes));
  node.outputs = {output};
  after_.push_back(std::move(node));
}

Result<void> NodeForm::emit_as(int output, std::string_view op_type, std::vector<ValueId> inputs,
                               Attributes attributes) {
  replaced_ = true;
  Node node = make(op_type, std::move(inputs), std::move(attributes));
  node.outputs = {node_.outputs[output]};
  return add(std::move(node));
}

Result<std::vector<NodeId>> NodeForm::finish() {
  if (!replaced_) TRY_VOID(add(std::move(node_)));
  return finish_after();
}

Result<std::vector<NodeId>> NodeForm::finish_lowered() {
  if (!replaced_) added_.push_back(graph_.add_node(std::move(node_)));
  return finish_after();
}

Result<std::vector<NodeId>> NodeForm::finish_after() {
  for (Node& node : after_) TRY_VOID(add(std::move(node)));
  return std::move(added_);
}

Result<std::vector<NodeId>> add_lifted(Graph& graph, Node node, int64_t opset) {
  node.op = find_op(node.domain, node.op_type, graph.info().operators.get());
  const auto add_opaque = [&](Node opaque, std::string reason) {
    opaque.op = nullptr;
    opaque.opaque_reason = std::move(reason);
    return std::vector{graph.add_node(std::move(opaque))};
  };
  if (!node.op) return add_opaque(std::move(node), "no such operator is known");
  if (opset >= node.op->since) return NodeForm(graph, std::move(node)).finish();
  const Version* version = version_at(*node.op, opset);
  if (!version && node.op->early) {
    if (!graph.info().has_early) graph.edit_info().has_early = true;
    return NodeForm(graph, std::move(node)).finish();
  }
  if (!version) return add_opaque(std::move(node), fmt::format("opset {} does not have the operator", opset));
  if (!version->to_newest) {
    TRY(std::vector<NodeId> added, NodeForm(graph, node).finish());
    if (!graph.node(added.front()).is_opaque()) TRY_VOID(expect_known_attributes(graph, std::move(node), *version));
    return added;
  }
  // No version makes an attribute of the first input: changes of form may rely on it.
  NodeForm form(graph, node);
  if (!node.op->inputs.empty() && node.op->inputs[0].arity != Parameter::Arity::kOptional &&
      !node.op->inputs[0].heterogeneous && !form.has_input(0))
    return form.invalid("input 0 ({}) expected, none found", node.op->inputs[0].name);
  // A node that turns out to be opaque stays as the file has it, so the graph must be as if nothing had been emitted.
  const Graph::Mark before = graph.mark();
  const auto lifted = version->to_newest(form);
  if (!lifted.ok() && lifted.error().kind != ErrorKind::kUnsupported) return lifted.error();
  std::string reason = lifted.ok() ? "" : lifted.error().what;
  if (lifted.ok()) {
    TRY(std::vector<NodeId> added, form.finish());
    for (const NodeId id : added)
      if (graph.node(id).is_opaque()) reason = graph.node(id).opaque_reason;
    if (reason.empty()) return added;
  }
  graph.roll_back(before);
  return add_opaque(std::move(node), std::move(reason));
}

Result<std::vector<NodeId>> reform_node(Graph& graph, NodeId id, const Reform& reform) {
  Node node = graph.node(id);
  graph.remove_node(id);
  NodeForm form(graph, std::move(node));
  TRY_VOID(reform(form));
  return form.finish();
}

Result<void> lower_to_opset(Graph& graph, int64_t opset) {
  TRY(const std::vector<NodeId> order, topological_order(graph));
  std::deque<NodeId> pending(order.begin(), order.end());
  const std::vector<int> uses = graph.use_counts();
  while (!pending.empty()) {
    const NodeId id = pending.front();
    pending.pop_front();
    if (!graph.contains(id)) continue;
    const OpDef* op = graph.node(id).op;
    if (op && op->domain == kOwnDomain) {
      TRY(const std::vector<NodeId> placed, reform_node(graph, id, op->expand));
      pending.insert(pending.begin(), placed.begin(), placed.end());
      continue;
    }
    if (!op || !op->domain.empty() || opset >= op->since) continue;
    const Version* version = version_at(*op, opset);
    if (version ? !version->from_newest : op->early && graph.info().has_early) continue;
    if (!version && !op->expand)
      return unsupported(label(graph, id), "an operator of opset {} expected, one of opset {} found", opset, op->since);
    const std::string place = label(graph, id);
    const auto placed = version ? lower_node(graph, id, version->from_newest) : reform_node(graph, id, op->expand);
    if (!placed.ok()) return Error{placed.error().kind, place, placed.error().what};
    // Emitted nodes are in their newest form and need lowering too; the node itself is now in its old form.
    for (const NodeId next : *placed) {
      const bool same = graph.node(next).op == op;
      if (same && !version)
        return unsupported(label(graph, next),
                           "an operator of opset {} expected, one of opset {} found that cannot be written out", opset,
                           op->since);
      if (!same) pending.push_front(next);
    }
  }
  remove_unread(graph, uses);
  return {};
}

}  // namespace isomer
