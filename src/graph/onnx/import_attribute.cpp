#include "graph/onnx/import_attribute.h"

#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/onnx/parse.h"

namespace isomer {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;

/// Of the fields for values that are set. Zeros need not be: proto3 does not write them.
std::vector<int> types_of_values(const AttributeProto& proto) {
  const std::pair<bool, int> fields[] = {
      {proto.has_f(), AttributeProto::FLOAT},
      {proto.has_i(), AttributeProto::INT},
      {proto.has_s(), AttributeProto::STRING},
      {proto.has_t(), AttributeProto::TENSOR},
      {proto.has_g(), AttributeProto::GRAPH},
      {proto.floats_size() > 0, AttributeProto::FLOATS},
      {proto.ints_size() > 0, AttributeProto::INTS},
      {proto.strings_size() > 0, AttributeProto::STRINGS},
      {proto.tensors_size() > 0, AttributeProto::TENSORS},
      {proto.graphs_size() > 0, AttributeProto::GRAPHS},
      {proto.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
      {proto.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS},
      {proto.has_tp(), AttributeProto::TYPE_PROTO},
      {proto.type_protos_size() > 0, AttributeProto::TYPE_PROTOS},
  };
  std::vector<int> types;
  for (const auto& [is_set, type] : fields)
    if (is_set) types.push_back(type);
  return types;
}

std::string type_name(int type) {
  return AttributeProto::AttributeType_Name(static_cast<AttributeProto::AttributeType>(type));
}

/// Files before IR 2 may leave the type out: then the field that is set tells.
Result<int> attribute_type(const AttributeProto& proto) {
  const std::vector<int> values = types_of_values(proto);
  const int type = proto.type() == AttributeProto::UNDEFINED && !values.empty() ? values[0] : proto.type();
  if (type == AttributeProto::UNDEFINED || !AttributeProto::AttributeType_IsValid(type))
    return invalid("", "a type that ONNX has expected, {} found", type);
  for (const int value : values)
    if (value != type)
      return invalid("", "a value of type {} expected, one of type {} found", type_name(type), type_name(value));
  return type;
}

std::string attribute_place(const std::string& place, const AttributeProto& proto) {
  return fmt::format("{}: attribute '{}'", place, proto.name());
}

Error reference_outside(const std::string& where, const AttributeProto& proto) {
  return invalid(where, "a value expected, a reference to '{}' outside of a function found", proto.ref_attr_name());
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
  if (!proto.ref_attr_name().empty()) return reference_outside(where, proto);
  const auto read_tensor = [&](const onnx_proto::TensorProto& tensor) -> Result<Tensor> {
    auto read = tensors.read(tensor);
    if (!read.ok()) return std::move(read).error().within(where);
    return read;
  };
  const auto type = attribute_type(proto);
  if (!type.ok()) return Error(type.error()).within(where);
  switch (*type) {
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
      auto bytes = serialized(kept);
      if (!bytes.ok()) return std::move(bytes).error().within(where);
      return Attribute(RawAttribute{*std::move(bytes)});
    }
    default: return invalid(where, "a type that ONNX has expected, {} found", *type);
  }
}

Result<Tensor> import_constant(const AttributeProto& proto, TensorReader& tensors, const std::string& place) {
  static const std::map<std::string_view, int> kTypes = {
      {"value", AttributeProto::TENSOR},        {"sparse_value", AttributeProto::SPARSE_TENSOR},
      {"value_float", AttributeProto::FLOAT},   {"value_int", AttributeProto::INT},
      {"value_string", AttributeProto::STRING}, {"value_floats", AttributeProto::FLOATS},
      {"value_ints", AttributeProto::INTS},     {"value_strings", AttributeProto::STRINGS}};
  const auto expected = kTypes.find(proto.name());
  if (expected == kTypes.end())
    return invalid(place, "a value, value_int, value_float, … expected, attribute '{}' found", proto.name());
  if (!proto.ref_attr_name().empty()) return reference_outside(attribute_place(place, proto), proto);
  const auto read = [&]() -> Result<Tensor> {
    TRY(const int type, attribute_type(proto));
    if (type != expected->second)
      return invalid("", "a value of type {} expected, one of type {} found", type_name(expected->second),
                     type_name(type));
    switch (type) {
      case AttributeProto::TENSOR: return tensors.read(proto.t());
      case AttributeProto::SPARSE_TENSOR: return tensors.read(proto.sparse_tensor());
      case AttributeProto::FLOAT: return Tensor::scalar(DataType::kFloat32, proto.f());
      case AttributeProto::INT: {
        const int64_t value = proto.i();
        return Tensor::from_ints(DataType::kInt64, {}, {&value, 1});
      }
      case AttributeProto::STRING: return Tensor({}, {proto.s()});
      case AttributeProto::FLOATS: {
        const std::vector<double> values(proto.floats().begin(), proto.floats().end());
        return Tensor::from_doubles(DataType::kFloat32, {proto.floats_size()}, values);
      }
      case AttributeProto::INTS: return Tensor::int64s({proto.ints().begin(), proto.ints().end()});
      default:
        return Tensor({proto.strings_size()}, std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    }
  };
  auto tensor = read();
  if (!tensor.ok()) return std::move(tensor).error().within(attribute_place(place, proto));
  return tensor;
}

}  // namespace isomer
