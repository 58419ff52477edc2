#include "graph/onnx/export_attribute.h"

#include "graph/onnx/parse.h"
#include "graph/onnx/tensor_writer.h"

namespace isomer {
namespace {

using onnx_proto::AttributeProto;

/// One overload for each kind of attribute.
struct Writer {
  AttributeProto& proto;
  const WriteBody& write_body;

  Result<void> operator()(int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
    return {};
  }
  Result<void> operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
    return {};
  }
  Result<void> operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
    return {};
  }
  Result<void> operator()(const Tensor& value) const {
    proto.set_type(AttributeProto::TENSOR);
    *proto.mutable_t() = tensor_message("", value);
    return {};
  }
  Result<void> operator()(const GraphPtr& value) const {
    proto.set_type(AttributeProto::GRAPH);
    return write_body(*value, *proto.mutable_g());
  }
  Result<void> operator()(const std::vector<int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
    return {};
  }
  Result<void> operator()(const std::vector<float>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
    return {};
  }
  Result<void> operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
    return {};
  }
  Result<void> operator()(const std::vector<Tensor>& values) const {
    proto.set_type(AttributeProto::TENSORS);
    for (const Tensor& value : values) *proto.add_tensors() = tensor_message("", value);
    return {};
  }
  Result<void> operator()(const std::vector<GraphPtr>& values) const {
    proto.set_type(AttributeProto::GRAPHS);
    for (const GraphPtr& value : values) TRY_VOID(write_body(*value, *proto.add_graphs()));
    return {};
  }
  Result<void> operator()(const RawAttribute& value) const {
    const bool parsed = parse_nested(value.bytes, proto);
    CHECK(parsed) << "a raw attribute that is no AttributeProto";
    return {};
  }
};

}  // namespace

Result<void> write_attribute(const std::string& name, const Attribute& attribute, AttributeProto& proto,
                             const WriteBody& write_body) {
  TRY_VOID(std::visit(Writer{proto, write_body}, attribute));
  proto.set_name(name);
  return {};
}

}  // namespace isomer
