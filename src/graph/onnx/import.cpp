#include "graph/onnx/import.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "graph/onnx/functions.h"
#include "graph/onnx/import_graph.h"
#include "graph/onnx/payloads.h"
#include "graph/onnx/tensor_reader.h"

namespace isomer {
namespace {

using onnx_proto::ModelProto;

Result<ModelProto> parse(const std::string& bytes, const ImportLimits& limits) {
  ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(static_cast<int>(limits.message_depth) + 10);
  if (!model.ParseFromCodedStream(&coded)) return invalid("", "an ONNX model expected, something else found");
  return model;
}

void count_nodes(const google::protobuf::RepeatedPtrField<onnx_proto::NodeProto>& nodes, ImportReport& report) {
  for (const auto& node : nodes) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    ++report.operators[standard ? node.op_type() : node.domain() + "." + node.op_type()];
    ++report.nodes;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count_nodes(attribute.g().node(), report);
      for (const auto& body : attribute.graphs()) count_nodes(body.node(), report);
    }
  }
}

}  // namespace

Result<Graph> import_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                           const ImportOptions& options) {
  if (bytes.empty()) return invalid("", "an ONNX model expected, an empty file found");
  if (static_cast<int64_t>(bytes.size()) > options.limits.file_bytes)
    return invalid("", "a file of less than 2 GiB expected (larger weights stand beside it), one of {} bytes found",
                   bytes.size());
  TRY(CutModel cut, cut_payloads(bytes, options.limits));
  TRY(ModelProto model, parse(cut.remainder, options.limits));
  std::string().swap(cut.remainder);
  TRY_VOID(check_versions(model));
  if (options.report) {
    *options.report = {};
    options.report->functions = model.functions_size();
    options.report->graph_doc = model.graph().doc_string();
    count_nodes(model.graph().node(), *options.report);
  }
  TRY_VOID(expand_functions(model, options.limits));
  TensorReader tensors(bytes, std::move(owner), std::move(cut.payloads), options.folder, options.beside);
  TRY(Graph graph, import_graph(model, tensors, options.operators, options.limits));
  if (!tensors.external_file().empty()) graph.edit_info().external_data = tensors.external_file();
  if (options.report) options.report->external_files = tensors.external_files();
  return graph;
}

Result<Graph> import_model(const std::filesystem::path& path, const ImportOptions& options) {
  TRY(const auto file, MappedFile::open(path));
  ImportOptions placed = options;
  if (placed.folder.empty()) {
    placed.folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    std::error_code failed;
    placed.beside = std::filesystem::canonical(path, failed).parent_path();
  }
  TRY(Graph graph, import_model(file->bytes(), file, placed));
  if (!file->unchanged())
    return invalid("", "a file that stays as it is expected, one that changed while it was read found");
  return graph;
}

}  // namespace isomer
