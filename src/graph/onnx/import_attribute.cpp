#include "graph/onnx/import_attribute.h"

#include <unordered_set>

namespace isomer {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;

/// Files before IR 2 may leave the type out: then the field that is set tells.
int attribute_type(const AttributeProto& proto) {
  if (proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

void for_each_free_name(const GraphProto& body, const std::function<void(const std::string&)>& read) {
  std::unordered_set<std::string> defined;
  for (const auto& input : body.input()) defined.insert(input.name());
  for (const auto& tensor : body.initializer()) defined.insert(tensor.name());
  for (const auto& sparse : body.sparse_initializer()) defined.insert(sparse.values().name());
  for (const auto& node : body.node())
    for (const std::string& output : node.output()) defined.insert(output);
  const auto read_if_free = [&](const std::string& name) {
    if (!defined.contains(name)) read(name);
  };
  for (const auto& node : body.node()) for_each_read(node, read_if_free);
  for (const auto& output : body.output()) read_if_free(output.name());
}

std::string attribute_place(const std::string& place, const AttributeProto& proto) {
  return fmt::format("{}: attribute '{}'", place, proto.name());
}

template <class T, class Messages, class Read>
Result<Attribute> import_list(const Messages& messages, Read read) {
  std::vector<T> list;
  for (const auto& message : messages) {
    TRY(T item, read(message));
    list.push_back(std::move(item));
  }
  return Attribute(std::move(list));
}

}  // namespace

std::string file_label(const onnx_proto::NodeProto& node, int position) {
  return node.name().empty() ? fmt::format("node {} ({})", position, node.op_type())
                             : fmt::format("{} ({})", node.name(), node.op_type());
}

void for_each_read(const onnx_proto::NodeProto& node, const std::function<void(const std::string&)>& read) {
  for (const std::string& input : node.input())
    if (!input.empty()) read(input);
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) for_each_free_name(attribute.g(), read);
    for (const GraphProto& body : attribute.graphs()) for_each_free_name(body, read);
  }
}

Result<Attribute> import_attribute(const AttributeProto& proto, TensorReader& tensors, const std::string& place,
                                   const BuildBody& build_body) {
  const std::string where = attribute_place(place, proto);
  if (proto.name().empty()) return invalid(place, "attributes with names expected, an empty one found");
  if (!proto.ref_attr_name().empty())
    return invalid(where, "a value expected, a reference to '{}' outside of a function found", proto.ref_attr_name());
  const auto read_tensor = [&](const onnx_proto::TensorProto& tensor) -> Result<Tensor> {
    auto read = tensors.read(tensor);
    if (!read.ok()) return std::move(read).error().within(where);
    return read;
  };
  switch (attribute_type(proto)) {
    case AttributeProto::FLOAT: return Attribute(proto.f());
    case AttributeProto::INT: return Attribute(int64_t{proto.i()});
    case AttributeProto::STRING: return Attribute(proto.s());
    case AttributeProto::TENSOR: {
      TRY(Tensor tensor, read_tensor(proto.t()));
      return Attribute(std::move(tensor));
    }
    case AttributeProto::GRAPH: {
      TRY(GraphPtr body, build_body(proto.g()));
      return Attribute(std::move(body));
    }
    case AttributeProto::FLOATS: return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS: return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSORS: return import_list<Tensor>(proto.tensors(), read_tensor);
    case AttributeProto::GRAPHS: return import_list<GraphPtr>(proto.graphs(), build_body);
    case AttributeProto::SPARSE_TENSOR:
    case AttributeProto::SPARSE_TENSORS:
    case AttributeProto::TYPE_PROTO:
    case AttributeProto::TYPE_PROTOS: {
      AttributeProto kept = proto;
      if (auto done = tensors.restore(kept); !done.ok()) return std::move(done).error().within(where);
      return Attribute(RawAttribute{kept.SerializeAsString()});
    }
    default: return invalid(where, "a type that ONNX has expected, {} found", proto.type());
  }
}

Result<Tensor> import_constant(const AttributeProto& proto, TensorReader& tensors, const std::string& place) {
  const auto read = [&]() -> Result<Tensor> {
    const std::string& name = proto.name();
    if (name == "value" && proto.has_t()) return tensors.read(proto.t());
    if (name == "sparse_value" && proto.has_sparse_tensor()) return tensors.read(proto.sparse_tensor());
    if (name == "value_float" && proto.has_f()) return Tensor::scalar(DataType::kFloat32, proto.f());
    if (name == "value_int" && proto.has_i()) {
      const int64_t value = proto.i();
      return Tensor::from_ints(DataType::kInt64, {}, {&value, 1});
    }
    if (name == "value_string" && proto.has_s()) return Tensor({}, {proto.s()});
    if (name == "value_floats") {
      const std::vector<double> values(proto.floats().begin(), proto.floats().end());
      return Tensor::from_doubles(DataType::kFloat32, {proto.floats_size()}, values);
    }
    if (name == "value_ints") return Tensor::int64s({proto.ints().begin(), proto.ints().end()});
    if (name == "value_strings")
      return Tensor({proto.strings_size()}, std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    return invalid("", "a value, value_int, value_float, … expected");
  };
  auto tensor = read();
  if (!tensor.ok()) return std::move(tensor).error().within(attribute_place(place, proto));
  return tensor;
}

}  // namespace isomer
