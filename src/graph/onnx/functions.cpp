#include "graph/onnx/functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "graph/onnx/import_attribute.h"
#include "graph/onnx/versions.h"
#include "graph/op_def.h"
#include "graph/te/integer.h"
#include "util/hash.h"

namespace isomer {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::FunctionProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

std::string function_label(const FunctionProto& function) {
  return fmt::format("function {}.{}", function.domain(), function.name());
}

/// Whether a call of a function of that name may be one of an operator: ONNX leaves it to runtimes which of the two
/// they run, and ONNX Runtime takes the operator. In ONNX's own domains it takes nothing else.
bool may_be_operator(const NodeProto& call) {
  static constexpr std::array<std::string_view, 4> kStandard = {"", "ai.onnx.ml", "ai.onnx.training",
                                                                "ai.onnx.preview.training"};
  const std::string domain = normal_domain(call.domain());
  return std::ranges::find(kStandard, domain) != kStandard.end() || find_op(domain, call.op_type());
}

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

/// What calls add to a list of nodes when every one in it is expanded; saturating.
struct Expansion {
  int64_t nodes = 0;   ///< those of the list, too
  int64_t bytes = 0;   ///< of messages
  int64_t height = 0;  ///< calls within one another
  /// How often the list's attributes refer to each one of the function's: a call's value is copied so often.
  std::map<std::string, int64_t> references;
};

/// Into `total`, but for the references: those of another function are not the list's.
void add_size(Expansion& total, const Expansion& part, int64_t times) {
  total.nodes = te::saturating_add(total.nodes, te::saturating_mul(part.nodes, times));
  total.bytes = te::saturating_add(total.bytes, te::saturating_mul(part.bytes, times));
  total.height = std::max(total.height, part.height);
}

int64_t references(const Expansion& expansion, const std::string& name) {
  const auto found = expansion.references.find(name);
  return found == expansion.references.end() ? 0 : found->second;
}

void add_reference(Expansion& total, const std::string& name, int64_t times) {
  int64_t& count = total.references[name];
  count = te::saturating_add(count, times);
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
      std::unordered_set<std::string_view> inputs;
      for (const std::string& input : function.input())
        if (!inputs.insert(input).second)
          return invalid(function_label(function), "inputs of different names expected, '{}' found twice", input);
    }
    return library;
  }

  bool empty() const { return functions_.empty(); }

  const FunctionProto* called_by(const NodeProto& node) const {
    const auto found = functions_.find({normal_domain(node.domain()), node.op_type(), node.overload()});
    return found == functions_.end() ? nullptr : found->second;
  }

  /// Of nodes that stay where they are.
  template <class Nodes>
  Result<Expansion> measure(const Nodes& nodes, const ImportLimits& limits, int64_t depth) {
    Expansion total;
    for (const NodeProto& node : nodes) TRY_VOID(measure(node, limits, depth, total));
    return total;
  }

 private:
  /// What is kept of a call for each name and attribute that the function declares, while it is expanded.
  static constexpr int64_t kFormalBytes = 128;
  /// What each name in a copy is longer by, at most: what the call is called, and a number.
  static constexpr int64_t kPrefixBytes = 110;

  Result<void> measure(const NodeProto& node, const ImportLimits& limits, int64_t depth, Expansion& total) {
    total.nodes = te::saturating_add(total.nodes, 1);
    const Expansion* call = nullptr;
    const FunctionProto* function = called_by(node);
    if (function) {
      if (may_be_operator(node))
        return invalid(function_label(*function),
                       "a name that no operator may have expected: runtimes differ in which of the two '{}' calls",
                       node.op_type());
      TRY(call, measure(*function, limits, depth + 1));
      add_size(total, *call, 1);
      int64_t metadata = 0;
      for (const auto& entry : node.metadata_props()) metadata += static_cast<int64_t>(entry.SpaceUsedLong());
      total.bytes = te::saturating_add(total.bytes, te::saturating_mul(metadata, call->nodes));
    }
    int64_t height = 0;
    for (const AttributeProto& attribute : node.attribute()) {
      const int64_t times = call ? references(*call, attribute.name()) : 1;
      if (!attribute.ref_attr_name().empty()) {
        add_reference(total, attribute.ref_attr_name(), times);
        continue;
      }
      TRY(Expansion value, measure(attribute, limits, depth));
      if (call) value.bytes = te::saturating_add(value.bytes, static_cast<int64_t>(attribute.SpaceUsedLong()));
      add_size(total, value, times);
      for (const auto& [name, count] : value.references) add_reference(total, name, te::saturating_mul(count, times));
      height = std::max(height, value.height);
    }
    if (call) total.height = std::max(total.height, call->height + 1 + height);
    return {};
  }

  Result<Expansion> measure(const AttributeProto& attribute, const ImportLimits& limits, int64_t depth) {
    Expansion total;
    if (attribute.has_g())
      for (const NodeProto& node : attribute.g().node()) TRY_VOID(measure(node, limits, depth, total));
    for (const GraphProto& body : attribute.graphs())
      for (const NodeProto& node : body.node()) TRY_VOID(measure(node, limits, depth, total));
    return total;
  }

  /// Of a call that gives no attributes.
  Result<const Expansion*> measure(const FunctionProto& function, const ImportLimits& limits, int64_t depth) {
    const auto too_deep = [&] {
      return invalid("functions", "calls nested at most {} deep expected, more found", limits.call_depth);
    };
    if (const auto known = measured_.find(&function); known != measured_.end()) {
      if (!known->second) return invalid(function_label(function), "a function that does not call itself expected");
      if (depth + known->second->height > limits.call_depth) return too_deep();
      return &*known->second;
    }
    if (depth > limits.call_depth) return too_deep();
    measured_[&function] = std::nullopt;  // meeting it again before it is measured is recursion
    TRY(Expansion total, measure(function.node(), limits, depth));
    int64_t bytes = kFormalBytes * (int64_t{function.input_size()} + function.output_size() +
                                    function.attribute_proto_size() + function.opset_import_size());
    for (const NodeProto& node : function.node()) bytes += static_cast<int64_t>(node.SpaceUsedLong());
    for_each_node(function.node(),
                  [&](const NodeProto& node) { bytes += kPrefixBytes * (node.input_size() + node.output_size()); });
    total.bytes = te::saturating_add(total.bytes, bytes);
    for (const AttributeProto& fallback : function.attribute_proto()) {
      TRY(Expansion value, measure(fallback, limits, depth));
      value.bytes = te::saturating_add(value.bytes, static_cast<int64_t>(fallback.SpaceUsedLong()));
      add_size(total, value, references(total, fallback.name()));
    }
    std::optional<Expansion>& kept = measured_[&function];
    kept = std::move(total);
    return &*kept;
  }

  std::map<FunctionKey, const FunctionProto*> functions_;
  std::unordered_map<const FunctionProto*, std::optional<Expansion>> measured_;
};

/// One call's view of the names and attributes of the function's body.
class Inliner {
 public:
  Inliner(const FunctionProto& function, const NodeProto& call, std::string prefix,
          const std::map<std::string, int64_t>& model_opsets)
      : call_(call), prefix_(std::move(prefix)) {
    for (int i = 0; i < call.output_size(); ++i)  // what the call does not want may be read inside all the same
      if (!call.output(i).empty()) names_[function.output(i)] = call.output(i);
    for (int i = 0; i < function.input_size(); ++i)
      names_[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (const AttributeProto& fallback : function.attribute_proto()) attributes_[fallback.name()] = &fallback;
    for (const AttributeProto& given : call.attribute()) attributes_[given.name()] = &given;
    for (const auto& import : function.opset_import()) {
      const auto model = model_opsets.find(normal_domain(import.domain()));
      if (model == model_opsets.end() || model->second != import.version())
        opsets_[normal_domain(import.domain())] = import.version();
    }
  }

  /// What is said of the call is said of each node that stands for it, unless that says another thing itself.
  NodeProto copy(const NodeProto& node) const {
    NodeProto result = copy(node, names_);
    std::unordered_set<std::string_view> own;
    for (const auto& entry : node.metadata_props()) own.insert(entry.key());
    for (const auto& entry : call_.metadata_props())
      if (!own.contains(entry.key())) *result.add_metadata_props() = entry;
    return result;
  }

 private:
  using Names = std::unordered_map<std::string, std::string>;

  NodeProto copy(const NodeProto& node, const Names& names) const {
    NodeProto result = node;
    for (std::string& name : *result.mutable_input()) name = renamed(name, names);
    for (std::string& name : *result.mutable_output()) name = renamed(name, names);
    if (!node.name().empty()) result.set_name(prefix_ + node.name());
    if (const auto opset = opsets_.find(normal_domain(node.domain())); opset != opsets_.end() && !node.has_opset())
      result.set_opset(opset->second);
    result.clear_attribute();
    for (const AttributeProto& attribute : node.attribute())
      copy_attribute(attribute, names, *result.mutable_attribute());
    return result;
  }

  std::string renamed(const std::string& name, const Names& names) const {
    if (name.empty()) return name;
    const auto bound = names.find(name);
    return bound == names.end() ? prefix_ + name : bound->second;
  }

  template <class Attributes>
  void copy_attribute(const AttributeProto& attribute, const Names& names, Attributes& out) const {
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
    if (copied->has_g()) rename_body(*copied->mutable_g(), names);
    for (GraphProto& body : *copied->mutable_graphs()) rename_body(body, names);
  }

  /// Names that the body defines are its own, whatever they mean outside.
  void rename_body(GraphProto& body, Names names) const {
    for (const auto& input : body.input()) names.erase(input.name());
    for (const auto& tensor : body.initializer()) names.erase(tensor.name());
    for (const auto& sparse : body.sparse_initializer()) names.erase(sparse.values().name());
    for (const NodeProto& node : body.node())
      for (const std::string& output : node.output()) names.erase(output);
    for (auto& input : *body.mutable_input()) input.set_name(renamed(input.name(), names));
    for (auto& output : *body.mutable_output()) output.set_name(renamed(output.name(), names));
    for (auto& info : *body.mutable_value_info()) info.set_name(renamed(info.name(), names));
    for (auto& tensor : *body.mutable_initializer()) tensor.set_name(renamed(tensor.name(), names));
    for (auto& sparse : *body.mutable_sparse_initializer())
      sparse.mutable_values()->set_name(renamed(sparse.values().name(), names));
    for (NodeProto& node : *body.mutable_node()) node = copy(node, names);
  }

  const NodeProto& call_;
  std::string prefix_;
  Names names_;
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
  /// Of all that the graph and the bodies in it make, are given or read.
  void collect_names(const GraphProto& graph) {
    for (const auto& input : graph.input()) collect_prefixes(input.name());
    for (const auto& tensor : graph.initializer()) collect_prefixes(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) collect_prefixes(sparse.values().name());
    for (const NodeProto& node : graph.node()) collect_names(node);
  }
  void collect_names(const NodeProto& node) {
    for (const std::string& input : node.input()) collect_prefixes(input);
    for (const std::string& output : node.output()) collect_prefixes(output);
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g());
      for (const GraphProto& body : attribute.graphs()) collect_names(body);
    }
  }

  /// Each part of the name that ends with a slash, by a hash that grows with the name.
  template <class Visit>
  static void for_each_prefix(const std::string& name, const Visit& visit) {
    uint64_t hash = 0;
    for (const char letter : name) {
      hash = mix64(hash + static_cast<uint8_t>(letter) + 1);
      if (letter == '/') visit(hash);
    }
  }
  void collect_prefixes(const std::string& name) {
    for_each_prefix(name, [&](uint64_t prefix) { prefixes_.insert(prefix); });
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
      return invalid(file_label(node, position), "at most {} inputs and {} outputs expected, {} and {} found",
                     function->input_size(), function->output_size(), node.input_size(), node.output_size());
    const Positions inputs = input_positions(*function);
    add_passed_through(*function, inputs, node, out);
    const Inliner inliner(*function, node, fresh_prefix(node), opsets_);
    std::vector<NodeProto> copies;
    copies.reserve(function->node_size());
    for (const NodeProto& inner : function->node()) copies.push_back(inliner.copy(inner));
    for (const NodeProto& copy : copies) collect_names(copy);  // before calls among them get prefixes
    for (size_t i = 0; i < copies.size(); ++i) TRY_VOID(place(std::move(copies[i]), static_cast<int>(i), out));
    add_repeated(*function, inputs, node, out);
    return {};
  }

  using Positions = std::unordered_map<std::string_view, int>;
  static Positions input_positions(const FunctionProto& function) {
    Positions positions;
    for (int k = 0; k < function.input_size(); ++k) positions.emplace(function.input(k), k);
    return positions;
  }

  /// A formal that is both input and output needs a node to become the output.
  static void add_passed_through(const FunctionProto& function, const Positions& inputs, const NodeProto& call,
                                 google::protobuf::RepeatedPtrField<NodeProto>& out) {
    for (int i = 0; i < call.output_size(); ++i)
      if (const auto input = inputs.find(function.output(i));
          input != inputs.end() && input->second < call.input_size() && !call.output(i).empty())
        add_identity(call.input(input->second), call.output(i), out);
  }

  /// So do the others of several outputs that are one formal.
  static void add_repeated(const FunctionProto& function, const Positions& inputs, const NodeProto& call,
                           google::protobuf::RepeatedPtrField<NodeProto>& out) {
    std::unordered_map<std::string, std::string> last;
    for (int i = 0; i < call.output_size(); ++i)
      if (!call.output(i).empty()) last[function.output(i)] = call.output(i);
    for (int i = 0; i < call.output_size(); ++i)
      if (const std::string& made = last[function.output(i)];
          !call.output(i).empty() && call.output(i) != made && !inputs.contains(function.output(i)))
        add_identity(made, call.output(i), out);
  }

  static void add_identity(const std::string& from, const std::string& to,
                           google::protobuf::RepeatedPtrField<NodeProto>& out) {
    NodeProto& identity = *out.Add();
    identity.set_op_type("Identity");
    identity.add_input(from);
    identity.add_output(to);
  }

  /// A prefix that makes the names of this call's inner values unlike all others; short, however deep the call is.
  std::string fresh_prefix(const NodeProto& call) {
    const std::string base = (call.name().empty() ? call.op_type() : call.name()).substr(0, 100);
    for (;;) {
      std::string prefix = fmt::format("{}/{}/", base, calls_++);
      uint64_t hash = 0;
      for_each_prefix(prefix, [&](uint64_t last) { hash = last; });
      if (!prefixes_.contains(hash)) return prefix;
    }
  }

  const Library& library_;
  std::map<std::string, int64_t> opsets_;
  std::unordered_set<uint64_t> prefixes_;
  int64_t calls_ = 0;
};

}  // namespace

Result<void> expand_functions(ModelProto& model, const ImportLimits& limits) {
  TRY(Library library, Library::of(model));
  if (library.empty()) return {};
  TRY(const Expansion size, library.measure(model.graph().node(), limits, 0));
  if (size.nodes > limits.nodes)
    return invalid("functions", "at most {} nodes after expansion expected, {} found", limits.nodes, size.nodes);
  const int64_t memory = te::saturating_add(
      limits.memory_bytes, te::saturating_mul(limits.memory_factor, static_cast<int64_t>(model.ByteSizeLong())));
  if (size.bytes > memory)
    return invalid("functions", "nodes that take at most {} bytes after expansion expected, {} found", memory,
                   size.bytes);
  return Expander(library, model).expand(*model.mutable_graph());
}

}  // namespace isomer
