// ONNX messages from protobuf's text form, and models in and out of memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/onnx/import.h"
#include "graph/onnx/onnx.pb.h"

namespace isomer::test {

onnx_proto::ModelProto model_message(std::string_view text);
onnx_proto::TensorProto tensor_message(std::string_view text);

/// Opset 21, IR 10, a graph of this text.
onnx_proto::ModelProto model_of_graph(std::string_view graph_text);

Result<Graph> import_bytes(std::string bytes, const ImportOptions& options = {});
Result<Graph> import_message(const onnx_proto::ModelProto& model, const ImportOptions& options = {});

/// Throws std::runtime_error where the file is no model.
onnx_proto::ModelProto read_message(const std::filesystem::path& path);
void write_message(const std::filesystem::path& path, const onnx_proto::ModelProto& model);

/// The sentence, or "" for a success.
template <class T>
std::string message_of(const Result<T>& result) {
  return result.ok() ? "" : result.error().message();
}

}  // namespace isomer::test
