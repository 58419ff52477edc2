#include "onnx/messages.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <stdexcept>

#include "support/files.h"

namespace isomer::test {
namespace {

template <class Message>
Message parse(std::string_view text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &message))
    throw std::runtime_error("no message: " + std::string(text));
  return message;
}

}  // namespace

onnx_proto::ModelProto model_message(std::string_view text) { return parse<onnx_proto::ModelProto>(text); }
onnx_proto::TensorProto tensor_message(std::string_view text) { return parse<onnx_proto::TensorProto>(text); }

onnx_proto::ModelProto model_of_graph(std::string_view graph_text) {
  return model_message(fmt::format("ir_version: 10 opset_import {{ version: 21 }} graph {{ {} }}", graph_text));
}

Result<Graph> import_bytes(std::string bytes, const ImportOptions& options) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return import_model(std::as_bytes(std::span(*owner)), owner, options);
}

Result<Graph> import_message(const onnx_proto::ModelProto& model, const ImportOptions& options) {
  return import_bytes(model.SerializeAsString(), options);
}

onnx_proto::ModelProto read_message(const std::filesystem::path& path) {
  onnx_proto::ModelProto model;
  if (!model.ParseFromString(read_file(path))) throw std::runtime_error("no model: " + path.string());
  return model;
}

void write_message(const std::filesystem::path& path, const onnx_proto::ModelProto& model) {
  write_file(path, model.SerializeAsString());
}

}  // namespace isomer::test
