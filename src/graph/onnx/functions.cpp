#include "graph/onnx/functions.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "graph/onnx/import_attribute.h"
#include "graph/te/integer.h"

namespace isomer {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::FunctionProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string function_label(const FunctionProto& function) { return fmt::format("function {}.{}", function.domain(), function.name()); }

/// Calls `visit` on every node of a list and of the bodies in it, outermost first.
template <class Nodes, class Visit>
void for_each_node(const Nodes& nodes, const Visit& visit) {
  for (const NodeProto& node : nodes) {
    visit(node);
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) for_each_node(attribute.g().node(), visit);
      for (const GraphProto& body : attribute.graphs()) for_each_node(body.node(), visit);
    }
  }
}

class Library {
 public:
  static Result<Library> of(const ModelProto& model) {
    Library library;
    for (const FunctionProto& function : model.functions()) {
      if (function.name().empty()) return invalid("functions", "functions with names expected, an empty one found");
      const FunctionKey key{normal_domain(function.domain()), function.name(), function.overload()};
      if (!library.functions_.emplace(key, &function).second)
        return invalid(function_label(function), "one definition expected, two found");
    }
    return library;
  }

  bool empty() const { return functions_.empty(); }

  const FunctionProto* called_by(const NodeProto& node) const {
    const auto found = functions_.find({normal_domain(node.domain()), node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : found->second;
  }

  /// Nodes that a list of nodes becomes when every call is expanded, itself included; saturating.
  template <class Nodes>
  Result<int64_t> expanded_size(const Nodes& nodes, const ImportLimits& limits, int64_t depth) {
    if (depth > limits.call_depth) return invalid("functions", "calls nested at most {} deep expected", limits.call_depth);
    int64_t total = 0;
    std::optional<Error> failure;
    for_each_node(nodes, [&](const NodeProto& node) {
      total = te::saturating_add(total, 1);
      const FunctionProto* function = failure ? nullptr : called_by(node);
      if (!function) return;
      auto size = size_of(*function, limits, depth);
      if (size.ok())
        total = te::saturating_add(total, *size);
      else
        failure = size.error();
    });
    if (failure) return *failure;
    return total;
  }

 private:
  Result<int64_t> size_of(const FunctionProto& function, const ImportLimits& limits, int64_t depth) {
    if (const auto known = sizes_.find(&function); known != sizes_.end()) {
      if (known->second < 0) return invalid(function_label(function), "a function that does not call itself expected");
      return known->second;
    }
    sizes_[&function] = -1;  // being counted: meeting it again is recursion
    TRY(const int64_t size, expanded_size(function.node(), limits, depth + 1));
    return sizes_[&function] = size;
  }

  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_map<const FunctionProto*, int64_t> sizes_;
};

/// One call's view of the names and attributes of the function's body.
class Inliner {
 public:
  Inliner(const FunctionProto& function, const NodeProto& call, std::string prefix, const std::map<std::string, int64_t>& model_opsets)
      : prefix_(std::move(prefix)) {
    bind(function.output(), call.output());
    bind(function.input(), call.input());
    for (const AttributeProto& fallback : function.attribute_proto()) attributes_[fallback.name()] = &fallback;
    for (const AttributeProto& given : call.attribute()) attributes_[given.name()] = &given;
    for (const auto& import : function.opset_import()) {
      const auto model = model_opsets.find(normal_domain(import.domain()));
      if (model == model_opsets.end() || model->second != import.version()) opsets_[normal_domain(import.domain())] = import.version();
    }
  }

  NodeProto copy(const NodeProto& node) const {
    NodeProto result = node;
    rename(*result.mutable_input());
    rename(*result.mutable_output());
    if (!node.name().empty()) result.set_name(prefix_ + node.name());
    if (const auto opset = opsets_.find(normal_domain(node.domain())); opset != opsets_.end() && !node.has_opset())
      result.set_opset(opset->second);
    result.clear_attribute();
    for (const AttributeProto& attribute : node.attribute()) copy_attribute(attribute, *result.mutable_attribute());
    return result;
  }

 private:
  template <class Names>
  void bind(const Names& formals, const Names& actuals) {
    for (int i = 0; i < formals.size(); ++i) names_[formals[i]] = i < actuals.size() ? actuals[i] : std::string();
  }

  std::string renamed(const std::string& name) const {
    if (name.empty()) return name;
    const auto bound = names_.find(name);
    if (bound == names_.end()) return prefix_ + name;
    return bound->second;
  }

  template <class Names>
  void rename(Names& names) const {
    for (std::string& name : names) name = renamed(name);
  }

  template <class Attributes>
  void copy_attribute(const AttributeProto& attribute, Attributes& out) const {
    if (!attribute.ref_attr_name().empty()) {
      const auto value = attributes_.find(attribute.ref_attr_name());
      if (value == attributes_.end()) return;  // an optional attribute that the call leaves out
      AttributeProto* bound = out.Add();
      *bound = *value->second;
      bound->set_name(attribute.name());
      return;
    }
    AttributeProto* copied = out.Add();
    *copied = attribute;
    if (copied->has_g()) rename_body(*copied->mutable_g());
    for (GraphProto& body : *copied->mutable_graphs()) rename_body(body);
  }

  void rename_body(GraphProto& body) const {
    for (auto& input : *body.mutable_input()) input.set_name(renamed(input.name()));
    for (auto& output : *body.mutable_output()) output.set_name(renamed(output.name()));
    for (auto& info : *body.mutable_value_info()) info.set_name(renamed(info.name()));
    for (auto& tensor : *body.mutable_initializer()) tensor.set_name(renamed(tensor.name()));
    for (auto& sparse : *body.mutable_sparse_initializer())
      sparse.mutable_values()->set_name(renamed(sparse.values().name()));
    for (NodeProto& node : *body.mutable_node()) node = copy(node);
  }

  std::string prefix_;
  std::unordered_map<std::string, std::string> names_;
  std::unordered_map<std::string, const AttributeProto*> attributes_;
  std::map<std::string, int64_t> opsets_;
};

class Expander {
 public:
  Expander(const Library& library, const ModelProto& model) : library_(library) {
    for (const auto& import : model.opset_import()) opsets_[normal_domain(import.domain())] = import.version();
    collect_names(model.graph());
  }

  Result<void> expand(GraphProto& graph) {
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (int i = 0; i < nodes.size(); ++i) TRY_VOID(place(std::move(*nodes.Mutable(i)), i, *graph.mutable_node()));
    return {};
  }

 private:
  void collect_names(const GraphProto& graph) {
    const auto add = [&](const NodeProto& node) { names_.insert(node.output().begin(), node.output().end()); };
    for_each_node(graph.node(), add);
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
  }

  Result<void> place(NodeProto node, int position, google::protobuf::RepeatedPtrField<NodeProto>& out) {
    const FunctionProto* function = library_.called_by(node);
    if (!function) {
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) TRY_VOID(expand(*attribute.mutable_g()));
        for (GraphProto& body : *attribute.mutable_graphs()) TRY_VOID(expand(body));
      }
      *out.Add() = std::move(node);
      return {};
    }
    if (node.input_size() > function->input_size() || node.output_size() > function->output_size())
      return invalid(file_label(node, position), "at most {} inputs and {} outputs expected, {} and {} found", function->input_size(),
                     function->output_size(), node.input_size(), node.output_size());
    add_passed_through(*function, node, out);
    const Inliner inliner(*function, node, fresh_prefix(node), opsets_);
    for (int i = 0; i < function->node_size(); ++i) TRY_VOID(place(inliner.copy(function->node(i)), i, out));
    return {};
  }

  /// A formal that is both input and output needs a node to become the output.
  static void add_passed_through(const FunctionProto& function, const NodeProto& call, google::protobuf::RepeatedPtrField<NodeProto>& out) {
    for (int i = 0; i < call.output_size(); ++i)
      for (int k = 0; k < call.input_size(); ++k) {
        if (function.output(i) != function.input(k) || call.output(i).empty()) continue;
        NodeProto& identity = *out.Add();
        identity.set_op_type("Identity");
        identity.add_input(call.input(k));
        identity.add_output(call.output(i));
      }
  }

  /// A prefix that makes the names of this call's inner values unlike all others.
  std::string fresh_prefix(const NodeProto& call) {
    const std::string base = call.name().empty() ? call.op_type() : call.name();
    for (;;) {
      std::string prefix = fmt::format("{}/{}/", base, calls_++);
      const bool taken = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) { return name.starts_with(prefix); });
      if (!taken) return prefix;
    }
  }

  const Library& library_;
  std::map<std::string, int64_t> opsets_;
  std::unordered_set<std::string> names_;
  int64_t calls_ = 0;
};

}  // namespace

Result<void> expand_functions(ModelProto& model, const ImportLimits& limits) {
  TRY(Library library, Library::of(model));
  if (library.empty()) return {};
  TRY(const int64_t size, library.expanded_size(model.graph().node(), limits, 0));
  if (size > limits.nodes) return invalid("functions", "at most {} nodes after expansion expected, {} found", limits.nodes, size);
  return Expander(library, model).expand(*model.mutable_graph());
}

}  // namespace isomer
