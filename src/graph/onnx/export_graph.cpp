#include "graph/onnx/export_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/algorithms.h"
#include "graph/each_dim.h"
#include "graph/node_form.h"
#include "graph/onnx/arity.h"
#include "graph/onnx/export_attribute.h"
#include "graph/onnx/export_names.h"
#include "graph/onnx/extra.pb.h"
#include "graph/onnx/import_graph.h"
#include "graph/onnx/kept_names.h"
#include "graph/onnx/parse.h"
#include "graph/onnx/sparse_writer.h"
#include "graph/onnx/tensor_writer.h"
#include "graph/onnx/types.h"
#include "graph/te/symbols.h"

namespace isomer {
namespace {

using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;
using onnx_proto::ValueExtra;
using onnx_proto::ValueInfoProto;

/// Of a model that imports no version of ONNX's own domain and comes to need it.
constexpr int64_t kDefaultOpset = 21;

/// The graph and the bodies of its nodes in the form of an opset.
Result<Graph> lowered(Graph graph, int64_t opset) {
  TRY_VOID(lower_to_opset(graph, opset));
  const auto lower = [&](GraphPtr& body) -> Result<void> {
    TRY(Graph result, lowered(*body, opset));
    body = std::make_shared<const Graph>(std::move(result));
    return {};
  };
  const auto has_body = [](const auto& attribute) {
    return std::holds_alternative<GraphPtr>(attribute.second) ||
           std::holds_alternative<std::vector<GraphPtr>>(attribute.second);
  };
  for (const NodeId id : graph.nodes()) {
    if (std::none_of(graph.node(id).attributes.begin(), graph.node(id).attributes.end(), has_body)) continue;
    for (auto& [name, attribute] : graph.edit(id).attributes) {
      if (auto* body = std::get_if<GraphPtr>(&attribute)) TRY_VOID(lower(*body));
      if (auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (GraphPtr& each : *bodies) TRY_VOID(lower(each));
    }
  }
  return graph;
}

ValueExtra extra_of(const Value& value) {
  ValueExtra extra;
  const bool parsed = parse_nested(value.extra, extra);
  CHECK(parsed) << value.name;
  return extra;
}

/// What is known better is still what it was called; a shape of another rank is not.
void copy_denotations(const onnx_proto::TypeProto& from, onnx_proto::TypeProto& to) {
  if (from.has_denotation()) to.set_denotation(from.denotation());
  const auto& before = from.tensor_type().shape();
  auto& after = *to.mutable_tensor_type()->mutable_shape();
  for (int k = 0; before.dim_size() == after.dim_size() && k < after.dim_size(); ++k)
    if (before.dim(k).has_denotation()) after.mutable_dim(k)->set_denotation(before.dim(k).denotation());
}

/// The type as the file had it, where that still is what `known` says: with denotations, and dims without a name.
ValueInfoProto value_info(const Value& value, const std::string& name, const ValueType& known, const IsFree& is_free) {
  ValueInfoProto proto = extra_of(value).info();
  const auto kept = read_type(proto.type(), value.name);
  const ValueType type = kept.ok() && *kept == known ? known : with_given_names(known, is_free);
  if (!kept.ok() || *kept != type || kept->kind == ValueType::Kind::kUnknown) {
    const onnx_proto::TypeProto said = proto.type();
    proto.clear_type();
    if (type.kind != ValueType::Kind::kUnknown) write_type(type, *proto.mutable_type());
    if (kept.ok() && kept->has_shape() && type.has_shape()) copy_denotations(said, *proto.mutable_type());
  }
  proto.set_name(name);
  return proto;
}

/// The file said of the value more than its type.
bool says_more(const ValueExtra& extra) {
  return extra.info().has_doc_string() || extra.info().metadata_props_size() > 0;
}

/// Writes one graph; its bodies by writers of their own.
class GraphWriter {
 public:
  GraphWriter(const Graph& graph, ExportedModel& exported, const std::vector<std::string>& captured,
              const GraphWriter* outer)
      : graph_(graph),
        exported_(exported),
        names_(graph, captured, outer ? &outer->names_ : nullptr),
        is_body_(outer != nullptr),
        ir_version_(outer ? outer->ir_version_ : graph.info().ir_version) {
    const std::vector<ValueId> values = graph.values();
    roles_.resize(values.empty() ? 0 : values.back().index + 1);
    for (const ValueId id : graph.inputs()) roles_[id.index].input = true;
    for (const ValueId id : graph.outputs()) roles_[id.index].output = true;
    for (const ValueId id : graph.captures()) roles_[id.index].capture = true;
    if (outer) free_ = outer->free_;
    for (const ValueId id : graph.inputs())
      if (!outer) for_each_dim(graph.value(id).type, [&](const Dim& dim) { free_.merge(names(dim)); });
  }

  Result<void> write(GraphProto& proto) {
    const bool parsed = parse_nested(graph_.extra, proto);
    CHECK(parsed) << graph_.name;
    if (!graph_.name.empty()) proto.set_name(graph_.name);
    kept_ = names_of_parameters(proto);
    if (!is_body_) {
      TrainingNames training = names_of_training(exported_.model);
      kept_.merge(training.bound);
      kept_.merge(training.read);
    }
    write_constant_nodes(proto);
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) TRY_VOID(write_node(graph_.node(id), *proto.add_node()));
    for (const ValueId id : graph_.inputs()) *proto.add_input() = interface_info(id, names_.of(id));
    for (const ValueId id : graph_.outputs()) *proto.add_output() = interface_info(id, output_name(id, proto));
    write_constants(proto);
    write_value_infos(proto);
    drop_empty_annotations(proto);
    return {};
  }

 private:
  struct Role {
    bool input = false, output = false, capture = false;
  };
  const Role& role(ValueId id) const { return roles_[id.index]; }
  bool is_before_ir_4() const { return ir_version_ < 4; }
  /// An initializer would have to be an input too before IR 4, of which a body has as many as its operator gives it;
  /// and not every runtime takes one for an output.
  bool is_constant_node(ValueId id) const {
    return graph_.is_constant(id) && (role(id).output || (is_body_ && is_before_ir_4())) && !role(id).capture;
  }

  ValueInfoProto info(const Value& value, const std::string& name, const ValueType& known) const {
    return value_info(value, name, known, [this](const std::string& size) { return free_.contains(size); });
  }

  ValueInfoProto interface_info(ValueId id, const std::string& name) const {
    const Value& value = graph_.value(id);
    const bool declared = value.declared && value.declared->kind != ValueType::Kind::kUnknown;
    return info(value, name, declared ? *value.declared : value.type);
  }

  void write_constant_nodes(GraphProto& proto) {
    const std::vector<int> uses = graph_.use_counts();
    for (const ValueId id : graph_.values()) {
      if (!is_constant_node(id) || uses[id.index] == 0) continue;
      const Value& value = graph_.value(id);
      const std::string& name = names_.of(id);
      const ValueExtra extra = extra_of(value);
      NodeProto& node = *proto.add_node();
      node.set_op_type("Constant");
      node.add_output(name);
      auto& attribute = *node.add_attribute();
      attribute.set_name("value");
      attribute.set_type(onnx_proto::AttributeProto::TENSOR);
      *attribute.mutable_t() = tensor_message("", *value.constant);
      attribute.mutable_t()->MergeFrom(extra.tensor());
      attribute.mutable_t()->clear_name();
      if (!extra.tensor().name().empty()) node.set_name(unique_node_name(extra.tensor().name()));
      if (!role(id).output && says_more(extra)) *proto.add_value_info() = info(value, name, value.type);
    }
  }

  Result<void> write_node(const Node& node, NodeProto& proto) {
    const bool parsed = parse_nested(node.extra, proto);
    CHECK(parsed) << node.name;
    for (const ValueId id : node.inputs) proto.add_input(id.valid() ? names_.of(id) : "");
    for (size_t k = 0; k < std::max(node.outputs.size(), least_outputs(node)); ++k) {
      const ValueId id = k < node.outputs.size() ? node.outputs[k] : ValueId();
      proto.add_output(id.valid() ? names_.of(id) : must_be_named(node, k) ? names_.fresh("unread") : "");
    }
    drop_trailing_empty(*proto.mutable_input());
    drop_trailing_empty(*proto.mutable_output());
    while (proto.input_size() < static_cast<int>(least_inputs(node))) proto.add_input("");
    if (!node.name.empty()) proto.set_name(unique_node_name(node.name));
    proto.set_op_type(node.op_type);
    if (!node.domain.empty()) proto.set_domain(node.domain);
    std::vector<std::string> captured;
    for (const ValueId id : node.captures) captured.push_back(names_.of(id));
    const auto write_body = [&](const Graph& body, GraphProto& message) {
      return GraphWriter(body, exported_, captured, this).write(message);
    };
    google::protobuf::RepeatedPtrField<onnx_proto::AttributeProto> kept;
    kept.Swap(proto.mutable_attribute());
    for (const auto& [name, attribute] : node.attributes) {
      onnx_proto::AttributeProto& written = *proto.add_attribute();
      TRY_VOID(write_attribute(name, attribute, written, write_body));
      for (const auto& said : kept)
        if (said.name() == name) add_kept(said, written);
    }
    return {};
  }

  /// What the file said of an attribute besides its value.
  static void add_kept(const onnx_proto::AttributeProto& kept, onnx_proto::AttributeProto& attribute) {
    if (kept.has_doc_string()) attribute.set_doc_string(kept.doc_string());
    if (attribute.unknown_fields().empty()) attribute.mutable_unknown_fields()->MergeFrom(kept.unknown_fields());
    if (kept.has_t() && attribute.has_t()) attribute.mutable_t()->MergeFrom(kept.t());
    for (int k = 0; kept.tensors_size() == attribute.tensors_size() && k < kept.tensors_size(); ++k)
      attribute.mutable_tensors(k)->MergeFrom(kept.tensors(k));
  }

  static void drop_trailing_empty(google::protobuf::RepeatedPtrField<std::string>& names) {
    while (!names.empty() && names[names.size() - 1].empty()) names.RemoveLast();
  }

  std::string unique_node_name(const std::string& name) {
    std::string unique = name;
    for (int& suffix = node_suffix_[name]; !node_names_.insert(unique).second;)
      unique = fmt::format("{}_{}", name, ++suffix);
    return unique;
  }

  /// What a body returns must be made inside it.
  std::string output_name(ValueId id, GraphProto& proto) {
    if (!role(id).capture) return names_.of(id);
    NodeProto& identity = *proto.add_node();
    identity.set_op_type("Identity");
    identity.add_input(names_.of(id));
    identity.add_output(names_.fresh(names_.of(id)));
    return identity.output(0);
  }

  void write_constants(GraphProto& proto) const {
    const std::vector<int> uses = graph_.use_counts();
    for (const ValueId id : graph_.values()) {
      const Value& value = graph_.value(id);
      if (!value.constant || role(id).capture || is_constant_node(id)) continue;
      if (uses[id.index] == 0 && !role(id).input && !kept_.contains(names_.of(id))) continue;
      write_constant(id, proto);
    }
  }

  void write_constant(ValueId id, GraphProto& proto) const {
    const Value& value = graph_.value(id);
    const std::string& name = names_.of(id);
    const ValueExtra extra = extra_of(value);
    if (!role(id).input && (is_before_ir_4() || says_more(extra)))
      *(is_before_ir_4() ? proto.add_input() : proto.add_value_info()) = info(value, name, value.type);
    if (extra.sparse())
      if (auto sparse = sparse_message(name, *value.constant)) {
        sparse->mutable_values()->MergeFrom(extra.tensor());
        sparse->mutable_values()->set_name(name);
        *proto.add_sparse_initializer() = std::move(*sparse);
        return;
      }
    onnx_proto::TensorProto header = tensor_header(name, *value.constant);
    header.MergeFrom(extra.tensor());
    header.set_name(name);
    if (!is_body_) {
      exported_.initializers.push_back({std::move(header), *value.constant});
      return;
    }
    header.set_payload(static_cast<uint32_t>(exported_.of_bodies.size()));
    exported_.of_bodies.push_back(*value.constant);
    *proto.add_initializer() = std::move(header);
  }

  /// Of values of which the file said something, or that a node makes whose types nobody infers. No others: runtimes
  /// choose other nodes for what they know more of, and not always better ones (ONNX Runtime 1.32 loses 7 % of
  /// DistilBERT with open sizes by SkipLayerNormalization).
  void write_value_infos(GraphProto& proto) const {
    for (const NodeId node : graph_.nodes())
      for (const ValueId id : graph_.node(node).outputs) {
        if (!id.valid() || role(id).output) continue;
        const Value& value = graph_.value(id);
        const bool is_known_by_this_alone =
            graph_.node(node).is_opaque() && value.type.kind != ValueType::Kind::kUnknown;
        if (value.extra.empty() && !is_known_by_this_alone) continue;
        *proto.add_value_info() = info(value, names_.of(id), value.type);
      }
  }

  /// Those of values that are gone, or by tensors that are.
  void drop_empty_annotations(GraphProto& proto) const {
    if (proto.quantization_annotation().empty()) return;
    std::unordered_set<std::string_view> there;
    for (const ValueId id : graph_.captures()) there.insert(names_.of(id));
    for (const ValueInfoProto& input : proto.input()) there.insert(input.name());
    for (const auto& tensor : proto.initializer()) there.insert(tensor.name());
    for (const auto& sparse : proto.sparse_initializer()) there.insert(sparse.values().name());
    for (const NodeProto& node : proto.node()) there.insert(node.output().begin(), node.output().end());
    if (!is_body_)
      for (const Initializer& initializer : exported_.initializers) there.insert(initializer.header.name());
    auto& annotations = *proto.mutable_quantization_annotation();
    const auto gone = std::ranges::remove_if(annotations, [&](const onnx_proto::TensorAnnotation& annotation) {
      return !there.contains(annotation.tensor_name()) ||
             !std::ranges::all_of(annotation.quant_parameter_tensor_names(),
                                  [&](const auto& parameter) { return there.contains(parameter.value()); });
    });
    annotations.erase(gone.begin(), gone.end());
  }

  const Graph& graph_;
  ExportedModel& exported_;
  ExportNames names_;
  bool is_body_;
  int64_t ir_version_;  ///< of the model: a body's own info may not say it
  std::vector<Role> roles_;
  std::set<std::string> free_;  ///< sizes of the model's inputs
  std::set<std::string> kept_;  ///< values that are written though nothing reads them
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, int> node_suffix_;
};

/// Domains of the nodes, bodies included.
void collect_domains(const GraphProto& graph, std::set<std::string>& domains) {
  for (const NodeProto& node : graph.node()) {
    domains.insert(node.domain());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_domains(attribute.g(), domains);
      for (const GraphProto& body : attribute.graphs()) collect_domains(body, domains);
    }
  }
}

void write_info(const ModelInfo& info, ModelProto& model) {
  model.set_ir_version(std::max<int64_t>(info.ir_version, 3));  // before that there was no opset_import
  const auto set = [&](const std::string& text, auto setter) {
    if (!text.empty()) (model.*setter)(text);
  };
  using Setter = void (ModelProto::*)(const std::string&);
  set(info.producer_name, static_cast<Setter>(&ModelProto::set_producer_name));
  set(info.producer_version, static_cast<Setter>(&ModelProto::set_producer_version));
  set(info.domain, static_cast<Setter>(&ModelProto::set_domain));
  set(info.doc_string, static_cast<Setter>(&ModelProto::set_doc_string));
  if (info.model_version != 0) model.set_model_version(info.model_version);
  for (const auto& [key, text] : info.metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(text);
  }
}

void write_opsets(const ModelInfo& info, ModelProto& model) {
  std::map<std::string, int64_t> opsets = info.opsets;
  std::set<std::string> domains;
  collect_domains(model.graph(), domains);
  for (const std::string& domain : domains) opsets.emplace(domain, domain.empty() ? kDefaultOpset : 1);
  for (const auto& [domain, version] : opsets) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
}

/// What an importer refuses must not be written.
void check_importable(const ExportedModel& exported, const ModelInfo& info) {
  ModelProto model = exported.model;
  std::vector<Tensor> given = exported.of_bodies;
  for (const Initializer& initializer : exported.initializers) {
    onnx_proto::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor = initializer.header;
    tensor.set_payload(static_cast<uint32_t>(given.size()));
    given.push_back(initializer.data);
  }
  TensorReader tensors(std::move(given));
  const auto read = [&]() -> Result<void> {
    TRY_VOID(check_versions(model));
    TRY(const Graph graph, import_graph(model, tensors, info.operators));
    return check_outputs(graph);
  }();
  if (!read.ok() && read.error().kind == ErrorKind::kInvalid)
    throw Bug(fmt::format("a valid model expected, nothing is written; what would be: {}", read.error().message()));
}

}  // namespace

Result<ExportedModel> export_graph(const Graph& graph) {
  const int64_t opset = graph.info().opset();
  TRY(const Graph written, lowered(graph, opset == 0 ? kDefaultOpset : opset));
  ExportedModel exported;
  const bool parsed = parse_nested(graph.info().extra, exported.model);
  CHECK(parsed) << graph.name;
  write_info(graph.info(), exported.model);
  TRY_VOID(GraphWriter(written, exported, {}, nullptr).write(*exported.model.mutable_graph()));
  write_opsets(graph.info(), exported.model);
  check_importable(exported, graph.info());
  return exported;
}

}  // namespace isomer
