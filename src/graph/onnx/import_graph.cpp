#include "graph/onnx/import_graph.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "graph/infer.h"
#include "graph/node_form.h"
#include "graph/onnx/extra.pb.h"
#include "graph/onnx/import_attribute.h"
#include "graph/onnx/parse.h"
#include "graph/onnx/sequences.h"
#include "graph/onnx/types.h"
#include "graph/onnx/versions.h"

namespace isomer {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;
using onnx_proto::ValueExtra;
using onnx_proto::ValueInfoProto;

/// Nodes by index, each after the producers of what it reads by name; of several ready ones the first in the file.
Result<std::vector<int>> file_order(const GraphProto& proto) {
  std::unordered_map<std::string_view, int> producer;
  producer.reserve(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    for (const std::string& output : proto.node(i).output())
      if (!output.empty() && !producer.emplace(output, i).second)
        return invalid(file_label(proto.node(i), i), "outputs that nothing else makes expected, '{}' found", output);
  std::vector<int> missing(proto.node_size());
  std::vector<std::vector<int>> readers(proto.node_size());
  for (int i = 0; i < proto.node_size(); ++i)
    for_each_read(proto.node(i), [&](const std::string& name) {
      const auto found = producer.find(name);
      if (found == producer.end()) return;
      readers[found->second].push_back(i);
      ++missing[i];
    });
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < proto.node_size(); ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int reader : readers[order.back()])
      if (--missing[reader] == 0) ready.push(reader);
  }
  for (int i = 0; i < proto.node_size(); ++i)
    if (missing[i] > 0)
      return invalid(file_label(proto.node(i), i), "a graph without cycles expected, the node is on or behind one");
  return order;
}

bool is_constant_node(const NodeProto& node) {
  return node.op_type() == "Constant" && normal_domain(node.domain()).empty();
}

/// Of a tensor, what the Graph has no place for.
onnx_proto::TensorProto rest_of(const onnx_proto::TensorProto& tensor) {
  onnx_proto::TensorProto rest;
  if (tensor.has_doc_string()) rest.set_doc_string(tensor.doc_string());
  *rest.mutable_metadata_props() = tensor.metadata_props();
  rest.mutable_unknown_fields()->MergeFrom(tensor.unknown_fields());
  return rest;
}

ValueExtra initializer_extra(const onnx_proto::TensorProto& tensor) {
  ValueExtra extra;
  *extra.mutable_tensor() = rest_of(tensor);
  return extra;
}

/// What the node said, as if the tensor did.
ValueExtra constant_extra(const NodeProto& node) {
  ValueExtra extra;
  onnx_proto::TensorProto& rest = *extra.mutable_tensor();
  if (node.attribute(0).has_t()) rest = rest_of(node.attribute(0).t());
  if (node.has_name()) rest.set_name(node.name());
  if (node.has_doc_string()) rest.set_doc_string(node.doc_string());
  rest.mutable_metadata_props()->MergeFrom(node.metadata_props());
  return extra;
}

/// The same of an attribute, whose tensors have names besides.
AttributeProto rest_of(const AttributeProto& attribute) {
  AttributeProto rest;
  const auto is_empty = [](const onnx_proto::TensorProto& tensor) { return tensor.ByteSizeLong() == 0; };
  const auto add = [](const onnx_proto::TensorProto& tensor, onnx_proto::TensorProto& out) {
    out = rest_of(tensor);
    if (tensor.has_name()) out.set_name(tensor.name());
  };
  if (attribute.has_doc_string()) rest.set_doc_string(attribute.doc_string());
  rest.mutable_unknown_fields()->MergeFrom(attribute.unknown_fields());
  if (attribute.has_t()) add(attribute.t(), *rest.mutable_t());
  if (is_empty(rest.t())) rest.clear_t();
  for (const auto& tensor : attribute.tensors()) add(tensor, *rest.add_tensors());
  if (std::ranges::all_of(rest.tensors(), is_empty)) rest.clear_tensors();
  return rest;
}

/// Omitted outputs at the end of the list say nothing.
template <class Names>
int count_without_trailing_empty(const Names& names) {
  int count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

/// Outputs that the node has: where their number says what the operator does, unnamed ones at the end count unless all
/// are.
int count_outputs(const NodeProto& node, const OpTable* operators) {
  const OpDef* op = find_op(normal_domain(node.domain()), node.op_type(), operators);
  const int named = count_without_trailing_empty(node.output());
  const bool is_list = op && !op->outputs.empty() && op->outputs.back().arity == Parameter::Arity::kVariadic;
  return is_list && named > 0 ? node.output_size() : named;
}

std::string node_extra(const NodeProto& node) {
  NodeProto rest;
  if (node.has_doc_string()) rest.set_doc_string(node.doc_string());
  if (node.has_overload()) rest.set_overload(node.overload());
  *rest.mutable_metadata_props() = node.metadata_props();
  *rest.mutable_device_configurations() = node.device_configurations();
  rest.mutable_unknown_fields()->MergeFrom(node.unknown_fields());
  for (const AttributeProto& attribute : node.attribute()) {
    AttributeProto kept = rest_of(attribute);
    if (kept.ByteSizeLong() == 0) continue;
    kept.set_name(attribute.name());
    *rest.add_attribute() = std::move(kept);
  }
  return rest.SerializeAsString();
}

/// What the graphs of one model share.
struct Reading {
  const Graph& model;  ///< has the info, of which there may be much
  TensorReader& tensors;
  int64_t unread_captures_left;
};

/// An error of the node that comes next in the graph, or of others that stand for it, as one of the file's node.
Error at_node(const NodeProto& proto, const std::string& place, const Graph::Mark& next, Error error) {
  const std::string own = proto.name().empty() ? fmt::format("node {} ({})", next.nodes, proto.op_type()) : place;
  error.where = error.where.starts_with(own) ? place + error.where.substr(own.size()) : place;
  return error;
}

/// Builds one graph; those of its nodes' attributes by builders of their own that look names up in it.
class GraphBuilder {
 public:
  GraphBuilder(const GraphProto& proto, Reading& reading, GraphBuilder* outer)
      : proto_(proto), reading_(reading), info_(reading.model.info()), tensors_(reading.tensors), outer_(outer) {}

  Result<Graph> build() {
    graph_.name = proto_.name();
    graph_.share_info(outer_ ? outer_->graph_ : reading_.model);
    keep_extra();
    keep_given_names();
    declared_.reserve(proto_.value_info_size());
    for (const ValueInfoProto& value : proto_.value_info()) declared_.emplace(value.name(), &value);
    values_.reserve(proto_.initializer_size() + proto_.input_size() + proto_.node_size());
    TRY_VOID(add_initializers());
    TRY_VOID(add_inputs());
    TRY(const std::vector<int> order, file_order(proto_));
    TRY_VOID(declare_outputs());
    for (const int i : order) TRY_VOID(add_node(i));
    TRY_VOID(add_outputs());
    sequences_.remove_unread();
    graph_.set_captures(captured_formals_);
    return std::move(graph_);
  }

  /// Outer values that the graph reads, in the order of its captures.
  const std::vector<ValueId>& captured() const { return captured_; }

  /// The value of a name in this scope or the ones around it; captured where it is theirs.
  ValueId lookup(const std::string& name) {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    if (!outer_) return {};
    const ValueId outer = outer_->lookup(name);
    if (!outer.valid()) return {};
    const Value& source = outer_->graph_.value(outer);
    Value formal;
    formal.name = name;
    formal.type = source.type;
    formal.content = source.content;
    if (outer_->graph_.is_constant(outer)) formal.constant = source.constant;
    const ValueId id = graph_.add_value(std::move(formal));
    values_.emplace(name, id);
    captured_.push_back(outer);
    captured_formals_.push_back(id);
    return id;
  }

 private:
  void keep_extra() {
    GraphProto rest;
    rest.mutable_unknown_fields()->MergeFrom(proto_.unknown_fields());
    if (proto_.has_doc_string()) rest.set_doc_string(proto_.doc_string());
    *rest.mutable_quantization_annotation() = proto_.quantization_annotation();
    *rest.mutable_metadata_props() = proto_.metadata_props();
    graph_.extra = rest.SerializeAsString();
  }

  Result<void> define(const std::string& name, ValueId id) {
    if (!values_.emplace(name, id).second) return invalid(name, "a name that nothing else has expected");
    return {};
  }

  Result<void> add_initializers() {
    for (const auto& tensor : proto_.initializer()) {
      if (tensor.name().empty()) return invalid("initializer", "a name expected, an empty one found");
      TRY_VOID(add_initializer(tensor.name(), tensors_.read(tensor), initializer_extra(tensor)));
    }
    for (const auto& sparse : proto_.sparse_initializer()) {
      const std::string& name = sparse.values().name();
      if (name.empty()) return invalid("sparse_initializer", "a name expected, an empty one found");
      ValueExtra extra = initializer_extra(sparse.values());
      extra.set_sparse(true);
      TRY_VOID(add_initializer(name, tensors_.read(sparse), extra));
    }
    return {};
  }

  /// The value of a name in this scope or the ones around it; nullptr where there is none yet.
  const Value* known(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return &graph_.value(found->second);
    return outer_ ? outer_->known(name) : nullptr;
  }

  Result<void> add_initializer(const std::string& name, Result<Tensor> contents, const ValueExtra& extra) {
    if (!contents.ok()) return std::move(contents).error().within(name);
    // ONNX wants other names in bodies; runtimes read now the one, now the other where they are the same.
    if (const Value* shadowed = outer_ ? outer_->known(name) : nullptr;
        shadowed && !(shadowed->constant && shadowed->constant->same_contents(*contents)))
      return invalid(name, "an initializer of a body with a name of its own expected, one of the graph around found");
    return define(name, add_constant(std::move(*contents), name, extra));
  }

  ValueId add_constant(Tensor contents, const std::string& name, const ValueExtra& extra) {
    const ValueId id = graph_.add_constant(std::move(contents), name);
    Value& value = graph_.edit(id);
    value.extra = extra.SerializeAsString();
    if (const auto info = declared_.find(name); info != declared_.end()) add_extra(value, *info->second);
    return id;
  }

  /// Before IR 4 every initializer is an input as well, and a constant, in bodies too; since then it is a default that
  /// callers may override.
  Result<void> add_inputs() {
    std::vector<ValueId> inputs;
    inputs.reserve(proto_.input_size());
    std::unordered_set<std::string_view> seen(proto_.input_size());
    for (const ValueInfoProto& info : proto_.input()) {
      if (info.name().empty()) return invalid("graph input", "a name expected, an empty one found");
      if (!seen.insert(info.name()).second)
        return invalid(info.name(), "inputs of different names expected, one found twice");
      TRY(ValueType type, declared_type(info));
      const auto initializer = values_.find(info.name());
      if (initializer == values_.end()) {
        if (!outer_ && type.kind == ValueType::Kind::kUnknown)
          return invalid(info.name(), "a type expected, none found");
        Value value;
        value.name = info.name();
        value.type = outer_ ? inner(type) : type;
        value.declared = std::move(type);
        add_extra(value, info);
        const ValueId id = graph_.add_value(std::move(value));
        TRY_VOID(define(info.name(), id));
        inputs.push_back(id);
        continue;
      }
      Value& value = graph_.edit(initializer->second);
      if (type.is_tensor() && type.dtype != value.type.dtype)
        return invalid(info.name(), "an initializer of type {} expected, {} found", name(type.dtype),
                       name(value.type.dtype));
      if (type.has_shape() && contradict(*type.shape, *value.type.shape))
        return invalid(info.name(), "an initializer of shape {} expected, {} found", text(*type.shape),
                       text(*value.type.shape));
      add_extra(value, info);
      if (info_.ir_version < 4) continue;
      if (type.is_tensor()) value.type = type;
      value.declared = std::move(type);
      value.content.reset();
      inputs.push_back(initializer->second);
    }
    graph_.set_inputs(std::move(inputs));
    return {};
  }

  Result<void> add_node(int i) {
    const NodeProto& proto = proto_.node(i);
    const std::string place = file_label(proto, i);
    if (proto.op_type().empty()) return invalid(place, "an op_type expected, none found");
    const std::string domain = normal_domain(proto.domain());
    if (is_constant_node(proto)) return add_constant_node(proto, place);
    Node node;
    node.domain = domain;
    node.op_type = proto.op_type();
    node.name = proto.name();
    node.extra = node_extra(proto);
    for (int k = 0; k < count_without_trailing_empty(proto.input()); ++k) {
      const std::string& name = proto.input(k);
      const ValueId id = name.empty() ? ValueId{} : lookup(name);
      if (!name.empty() && !id.valid())
        return invalid(place, "inputs that a node, an initializer or a graph input gives expected, '{}' found", name);
      node.inputs.push_back(id);
    }
    TRY_VOID(add_attributes(proto, place, node));
    for (int k = 0; k < count_outputs(proto, info_.operators.get()); ++k)
      node.outputs.push_back(proto.output(k).empty() ? ValueId{} : local(proto.output(k)));
    const auto opset = info_.opsets.find(domain);
    if (opset == info_.opsets.end() && !proto.has_opset())
      return invalid(place, "an import of domain '{}' expected, none found", domain.empty() ? "ai.onnx" : domain);
    if (sequences_.replaces(node)) return check_declared(proto);
    const int64_t version = proto.has_opset() ? proto.opset() : opset->second;
    const Graph::Mark next = graph_.mark();
    const auto added = add_checked(std::move(node), version);
    if (!added.ok()) return at_node(proto, place, next, added.error());
    if (opset != info_.opsets.end() && version != opset->second)
      for (const NodeId id : *added) TRY_VOID(check_version(id, place, version, opset->second));
    return check_declared(proto);
  }

  /// What breaks its row's rules is an error, unless the rules may be newer than the row or the node may never run: the
  /// branch of an If for other ranks than the one at hand. Then it stays as it is.
  Result<std::vector<NodeId>> add_checked(Node node, int64_t version) {
    const bool may_be_right = outer_ != nullptr || (node.domain.empty() && version > kNewestRowOpset);
    if (!may_be_right) return add_lifted(graph_, std::move(node), version);
    const Graph::Mark before = graph_.mark();
    auto added = add_lifted(graph_, node, version);
    if (added.ok() || added.error().kind != ErrorKind::kInvalid) return added;
    graph_.roll_back(before);
    node.op = nullptr;
    node.opaque_reason = added.error().what;
    return std::vector{graph_.add_node(std::move(node))};
  }

  /// A node that we can't say in the model's own version must have come in that.
  Result<void> check_version(NodeId id, const std::string& place, int64_t version, int64_t expected) const {
    const Node& node = graph_.node(id);
    if (!node.is_opaque()) return {};
    return unsupported(place, "version {} of domain '{}' expected, as in the model, version {} found: {}", expected,
                       node.domain, version, node.opaque_reason);
  }

  /// What value_info says of the outputs' element types.
  Result<void> check_declared(const NodeProto& proto) {
    for (const std::string& output : proto.output()) {
      const auto info = output.empty() ? declared_.end() : declared_.find(output);
      if (info == declared_.end()) continue;
      TRY(const ValueType type, declared_type(*info->second));
      const ValueType& inferred = graph_.value(local(output)).type;
      if (type.is_tensor() && inferred.is_tensor() && type.dtype != inferred.dtype)
        return invalid(output, "{} expected, as its value_info says, {} found", name(type.dtype), name(inferred.dtype));
    }
    return {};
  }

  /// Sizes without a name are called after the value, by names that the file gives no other.
  Result<ValueType> declared_type(const ValueInfoProto& info) {
    auto type = read_type(info.type(), info.name());
    if (!type.ok()) return std::move(type).error().within(info.name());
    for (std::string name = info.name(); type->has_shape() && is_taken(*type, info);
         type = read_type(info.type(), name))
      name += '_';
    return type;
  }

  /// Whether a size that has no name in the file was given one of another's.
  bool is_taken(const ValueType& type, const ValueInfoProto& info) const {
    for (size_t k = 0; k < type.shape->size(); ++k) {
      const auto* symbol = te::as<te::Symbol>((*type.shape)[k].expr());
      const auto& written = info.type().tensor_type().shape().dim(static_cast<int>(k)).dim_param();
      if (symbol && symbol->name != written && is_given(symbol->name)) return true;
    }
    return false;
  }
  bool is_given(const std::string& name) const { return given_.contains(name) || (outer_ && outer_->is_given(name)); }

  /// The type of a value that is no input of the model: its sizes may be 0.
  ValueType inner(ValueType type) const {
    return with_inner_names(std::move(type), [this](const std::string& name) { return is_free(name); });
  }
  bool is_free(const std::string& name) const { return outer_ ? outer_->is_free(name) : free_.contains(name); }

  void keep_given_names() {
    // Before IR version 4 initializers are listed with the inputs.
    std::unordered_set<std::string_view> initializers;
    if (info_.ir_version < 4)
      for (const onnx_proto::TensorProto& each : proto_.initializer()) initializers.insert(each.name());
    for (const ValueInfoProto& input : proto_.input())
      if (!initializers.contains(input.name()))
        for (const auto& dim : input.type().tensor_type().shape().dim()) free_.insert(dim.dim_param());
    for (const auto* list : {&proto_.input(), &proto_.output(), &proto_.value_info()})
      for (const ValueInfoProto& info : *list)
        for (const auto& dim : info.type().tensor_type().shape().dim())
          if (!dim.dim_param().empty()) given_.insert(dim.dim_param());
  }

  static void add_extra(Value& value, const ValueInfoProto& info) {
    ValueExtra extra;
    if (!value.extra.empty()) parse_nested(value.extra, extra);
    *extra.mutable_info() = info;
    extra.mutable_info()->clear_name();
    extra.SerializeToString(&value.extra);
  }

  /// A value for every node output, with what value_info says of it; before the nodes, so that no name that a form
  /// change makes up takes one of theirs.
  Result<void> declare_outputs() {
    for (const NodeProto& node : proto_.node()) {
      if (is_constant_node(node)) continue;
      for (const std::string& name : node.output()) {
        if (name.empty()) continue;
        Value value;
        value.name = name;
        if (const auto info = declared_.find(name); info != declared_.end()) {
          TRY(ValueType type, declared_type(*info->second));
          value.type = inner(std::move(type));
          add_extra(value, *info->second);
        }
        TRY_VOID(define(name, graph_.add_value(std::move(value))));
      }
    }
    return {};
  }

  Result<void> add_constant_node(const NodeProto& proto, const std::string& place) {
    if (proto.output_size() != 1 || proto.output(0).empty())
      return invalid(place, "one output expected, {} found", proto.output_size());
    if (proto.input_size() != 0) return invalid(place, "no inputs expected, {} found", proto.input_size());
    if (proto.attribute_size() != 1) return invalid(place, "one attribute expected, {} found", proto.attribute_size());
    TRY(Tensor value, import_constant(proto.attribute(0), tensors_, place));
    return define(proto.output(0), add_constant(std::move(value), proto.output(0), constant_extra(proto)));
  }

  Result<void> add_attributes(const NodeProto& proto, const std::string& place, Node& node) {
    for (const auto& attribute : proto.attribute()) {
      TRY(Attribute value, import_attribute(attribute, tensors_, place,
                                            [&](const GraphProto& body) { return build_body(body, node, place); }));
      if (!node.attributes.emplace(attribute.name(), std::move(value)).second)
        return invalid(place, "attributes of different names expected, '{}' found twice", attribute.name());
    }
    for (auto& [name, attribute] : node.attributes) {
      if (auto* body = std::get_if<GraphPtr>(&attribute)) TRY_VOID(complete_captures(*body, node, place));
      if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (GraphPtr& each : *bodies) TRY_VOID(complete_captures(each, node, place));
    }
    return {};
  }

  /// Bodies of one node share its list of captures: each formal stands for the same outer value in all of them. A body
  /// has formals for those captures that were known when it was built.
  Result<GraphPtr> build_body(const GraphProto& proto, Node& node, const std::string& place) {
    GraphBuilder builder(proto, reading_, this);
    auto built = builder.build();
    if (!built.ok()) return std::move(built).error().within(place);
    Graph body = std::move(*built);
    if (body.info().has_early && !graph_.info().has_early) graph_.share_info(body);
    std::vector<ValueId> formals(node.captures.size());
    std::map<ValueId, size_t> position;
    for (size_t i = 0; i < node.captures.size(); ++i) position.emplace(node.captures[i], i);
    for (size_t i = 0; i < builder.captured().size(); ++i) {
      const auto [known, is_new] = position.emplace(builder.captured()[i], formals.size());
      if (is_new) {
        node.captures.push_back(builder.captured()[i]);
        formals.emplace_back();
      }
      formals[known->second] = body.captures()[i];
    }
    for (size_t i = 0; i < formals.size(); ++i)
      if (!formals[i].valid()) {
        TRY(formals[i], add_unread_capture(body, node.captures[i], place));
      }
    body.set_captures(std::move(formals));
    return std::make_shared<const Graph>(std::move(body));
  }

  Result<ValueId> add_unread_capture(Graph& body, ValueId outer, const std::string& place) {
    if (--reading_.unread_captures_left < 0)
      return invalid(place,
                     "bodies that read about the same values of the graph around expected, very different found");
    Value formal;
    formal.name = body.fresh_name(graph_.value(outer).name);
    formal.type = graph_.value(outer).type;
    return body.add_value(std::move(formal));
  }

  Result<void> complete_captures(GraphPtr& body, const Node& node, const std::string& place) {
    if (body->captures().size() == node.captures.size()) return {};
    Graph completed = *body;
    std::vector<ValueId> formals = completed.captures();
    while (formals.size() < node.captures.size()) {
      TRY(const ValueId formal, add_unread_capture(completed, node.captures[formals.size()], place));
      formals.push_back(formal);
    }
    completed.set_captures(std::move(formals));
    body = std::make_shared<const Graph>(std::move(completed));
    return {};
  }

  Result<void> add_outputs() {
    std::vector<ValueId> outputs;
    std::unordered_set<std::string_view> seen;
    for (const ValueInfoProto& info : proto_.output()) {
      if (info.name().empty()) return invalid("graph output", "a name expected, an empty one found");
      const ValueId id = outer_ ? lookup(info.name()) : local(info.name());
      if (!id.valid()) return invalid(info.name(), "an output that a node makes expected, nothing makes it");
      TRY(ValueType type, declared_type(info));
      Value& value = graph_.edit(id);
      if (type.is_tensor() && value.type.is_tensor() && type.dtype != value.type.dtype &&
          type.dtype != DataType::kUndefined)
        return invalid(info.name(), "an output of type {} expected, {} found", name(type.dtype),
                       name(value.type.dtype));
      if (value.type.kind == ValueType::Kind::kUnknown || (value.type.is_tensor() && !value.type.shape))
        value.type = inner(type);
      if (!value.declared) value.declared = std::move(type);
      // A value that is listed twice is given twice; the file says of it what it says first.
      if (seen.insert(info.name()).second) add_extra(value, info);
      outputs.push_back(id);
    }
    graph_.set_outputs(std::move(outputs));
    return {};
  }

  ValueId local(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? ValueId{} : found->second;
  }

  const GraphProto& proto_;
  Reading& reading_;
  const ModelInfo& info_;
  TensorReader& tensors_;
  GraphBuilder* outer_;
  Graph graph_;
  Sequences sequences_{graph_};
  std::unordered_set<std::string> given_, free_;  ///< names of sizes: all, those of inputs
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string_view, const ValueInfoProto*> declared_;
  std::vector<ValueId> captured_, captured_formals_;
};

/// What is kept as it is, with all its data.
Result<std::string> kept_of(const ModelProto& model, TensorReader& tensors) {
  ModelProto rest;
  rest.mutable_unknown_fields()->MergeFrom(model.unknown_fields());
  *rest.mutable_configuration() = model.configuration();
  if (model.training_info_size() == 0) return serialized(rest);
  *rest.mutable_training_info() = model.training_info();
  *rest.mutable_functions() = model.functions();
  for (auto& training : *rest.mutable_training_info()) {
    if (training.has_initialization()) tensors.restore_unread(*training.mutable_initialization());
    if (training.has_algorithm()) tensors.restore_unread(*training.mutable_algorithm());
  }
  for (auto& function : *rest.mutable_functions()) tensors.restore_unread(*function.mutable_node());
  return serialized(rest);
}

Result<ModelInfo> import_info(const ModelProto& model, TensorReader& tensors) {
  ModelInfo info;
  info.ir_version = model.ir_version();
  for (const auto& import : model.opset_import()) {
    const auto [known, inserted] = info.opsets.emplace(normal_domain(import.domain()), import.version());
    if (!inserted && known->second != import.version())
      return invalid("opset_import", "one version a domain expected, {} and {} found for '{}'", known->second,
                     import.version(), import.domain());
  }
  if (model.ir_version() < 3 && info.opsets.empty()) info.opsets[""] = 1;  // imports came with IR 3
  for (const auto& function : model.functions())  // expanded by now; the nodes that came out of them need their domains
    for (const auto& import : function.opset_import())
      info.opsets.emplace(normal_domain(import.domain()), import.version());
  info.producer_name = model.producer_name();
  info.producer_version = model.producer_version();
  info.domain = model.domain();
  info.doc_string = model.doc_string();
  info.model_version = model.model_version();
  for (const auto& entry : model.metadata_props()) info.metadata.emplace_back(entry.key(), entry.value());
  TRY(info.extra, kept_of(model, tensors));
  return info;
}

}  // namespace

Result<void> check_versions(const ModelProto& model) {
  if (!model.has_graph()) return invalid("", "a model with a graph expected, none found");
  if (!model.has_ir_version()) return invalid("ir_version", "a number expected, none found");
  TRY_VOID(check_ir_version(model.ir_version()));
  if (model.opset_import_size() == 0 && model.ir_version() >= 3)
    return invalid("opset_import", "at least one expected, none found");
  for (const auto& import : model.opset_import()) TRY_VOID(check_opset(import.domain(), import.version()));
  for (const auto& function : model.functions())
    for (const auto& import : function.opset_import()) TRY_VOID(check_opset(import.domain(), import.version()));
  return {};
}

Result<Graph> import_graph(const ModelProto& model, TensorReader& tensors, std::shared_ptr<const OpTable> operators,
                           const ImportLimits& limits) {
  TRY(ModelInfo info, import_info(model, tensors));
  info.operators = std::move(operators);
  Graph shared;
  shared.edit_info() = std::move(info);
  Reading reading{shared, tensors, limits.unread_captures};
  return GraphBuilder(model.graph(), reading, nullptr).build();
}

std::vector<std::string> wrong_declarations(const Graph& graph) {
  std::vector<std::string> sentences;
  for (const ValueId id : graph.outputs()) {
    const Value& value = graph.value(id);
    if (value.declared && value.declared->has_shape() && value.type.has_shape() &&
        contradict(*value.declared->shape, *value.type.shape))
      sentences.push_back(fmt::format("{}: the file declares an output of shape {}, it has {}", value.name,
                                      text(*value.declared->shape), text(*value.type.shape)));
  }
  return sentences;
}

}  // namespace isomer
