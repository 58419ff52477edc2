#include "graph/onnx/export.h"

#include <map>
#include <optional>

#include "graph/onnx/export_graph.h"
#include "graph/onnx/packing.h"
#include "graph/onnx/tensor_writer.h"
#include "graph/onnx/weights_place.h"
#include "graph/onnx/wire.h"
#include "util/file.h"
#include "util/output_file.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::TensorProto;

/// protobuf's limit on a message.
constexpr uint64_t kMaxMessage = (uint64_t{1} << 31) - 1;
/// Smaller tensors stay in the model: shapes, axes and scales can be read without the data file.
constexpr size_t kLeastOutside = 1024;
/// Of each tensor in the data file: a cache line, and all that vector loads ask for.
constexpr uint64_t kAlignment = 64;

bool may_stand_outside(const Tensor& tensor) {
  return tensor.dtype() != DataType::kString && size_in_file(tensor) >= kLeastOutside;
}

uint64_t outside_bytes(const ExportedModel& exported) {
  uint64_t total = 0;
  const auto add = [&](const Tensor& tensor) { total += may_stand_outside(tensor) ? size_in_file(tensor) : 0; };
  for (const Initializer& initializer : exported.initializers) add(initializer.data);
  for (const Tensor& tensor : exported.of_bodies) add(tensor);
  return total;
}

/// The file beside the model; equal ranges of memory are written once.
class DataFile {
 public:
  DataFile(OutputFile file, std::string location) : file_(std::move(file)), location_(std::move(location)) {}

  /// Data to the file, and its place there into the header.
  Result<void> write(const Tensor& tensor, TensorProto& header) {
    const auto bytes = tensor.bytes();
    const auto [place, is_new] = written_.emplace(std::pair(bytes.data(), bytes.size()), 0);
    if (is_new) {
      TRY_VOID(file_.align(kAlignment));
      place->second = file_.size();
      TRY_VOID(file_.write(FileBytes(tensor).bytes()));
    }
    header.set_data_location(TensorProto::EXTERNAL);
    add_entry(header, "location", location_);
    add_entry(header, "offset", fmt::format("{}", place->second));
    add_entry(header, "length", fmt::format("{}", size_in_file(tensor)));
    return {};
  }
  Result<void> sync() { return file_.sync(); }
  Result<void> commit() { return file_.commit(); }

 private:
  static void add_entry(TensorProto& proto, const char* key, std::string value) {
    auto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(std::move(value));
  }

  OutputFile file_;
  std::string location_;
  std::map<std::pair<const std::byte*, size_t>, uint64_t> written_;
};

/// Data of the initializers of bodies, into their messages or beside the model.
Result<void> place_data(GraphProto& body, const ExportedModel& exported, DataFile* file);

Result<void> place_data_of_bodies(GraphProto& graph, const ExportedModel& exported, DataFile* file) {
  for (onnx_proto::NodeProto& node : *graph.mutable_node())
    for (onnx_proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) TRY_VOID(place_data(*attribute.mutable_g(), exported, file));
      for (GraphProto& body : *attribute.mutable_graphs()) TRY_VOID(place_data(body, exported, file));
    }
  return {};
}

Result<void> place_data(GraphProto& body, const ExportedModel& exported, DataFile* file) {
  for (TensorProto& header : *body.mutable_initializer()) {
    const Tensor& tensor = exported.of_bodies[header.payload()];
    header.clear_payload();
    if (file && may_stand_outside(tensor))
      TRY_VOID(file->write(tensor, header));
    else
      add_data(header, tensor);
  }
  return place_data_of_bodies(body, exported, file);
}

/// Of the graph, those for which there is a file and that are not small.
Result<void> place_data_of_graph(ExportedModel& exported, DataFile& file) {
  for (Initializer& initializer : exported.initializers)
    if (may_stand_outside(initializer.data)) TRY_VOID(file.write(initializer.data, initializer.header));
  return {};
}

uint64_t size_of(const Initializer& initializer) {
  const bool outside = initializer.header.data_location() == TensorProto::EXTERNAL;
  return outside ? initializer.header.ByteSizeLong() : written_size(initializer.header, initializer.data);
}

std::string prefix(uint32_t field, uint64_t size) {
  std::string bytes;
  wire::append_tag(bytes, field, wire::Type::kBytes);
  wire::append_varint(bytes, size);
  return bytes;
}

/// The graph after everything else, its initializers between its nodes and the rest, their data from where they lie.
Result<void> write_model_file(ExportedModel& exported, OutputFile& file) {
  GraphProto head, tail;
  tail.Swap(exported.model.mutable_graph());
  head.mutable_node()->Swap(tail.mutable_node());
  if (tail.has_name()) head.set_name(tail.name());
  tail.clear_name();
  uint64_t graph_size = head.ByteSizeLong() + tail.ByteSizeLong();
  for (const Initializer& initializer : exported.initializers) {
    const uint64_t size = size_of(initializer);
    graph_size += prefix(GraphProto::kInitializerFieldNumber, size).size() + size;
  }
  exported.model.clear_graph();
  if (exported.model.ByteSizeLong() + graph_size + 16 > kMaxMessage)
    return unsupported("", "a model of less than 2 GiB without its external weights expected, {} bytes found",
                       graph_size);
  TRY_VOID(file.write(exported.model.SerializePartialAsString()));
  TRY_VOID(file.write(prefix(ModelProto::kGraphFieldNumber, graph_size)));
  TRY_VOID(file.write(head.SerializeAsString()));
  for (const Initializer& initializer : exported.initializers) {
    TRY_VOID(file.write(prefix(GraphProto::kInitializerFieldNumber, size_of(initializer))));
    TRY_VOID(initializer.header.data_location() == TensorProto::EXTERNAL
                 ? file.write(initializer.header.SerializeAsString())
                 : write_tensor(initializer.header, initializer.data, file));
  }
  return file.write(tail.SerializeAsString());
}

}  // namespace

Result<void> export_model(const Graph& graph, const fs::path& path, const ExportOptions& options) {
  TRY(ExportedModel exported, export_graph(graph));
  const uint64_t outside = outside_bytes(exported);
  const bool apart =
      outside > 0 && (!graph.info().external_data.empty() || outside > static_cast<uint64_t>(options.inline_bytes));
  std::optional<DataFile> data;
  WeightsPlace place(path);
  std::string location;
  if (apart) {
    const std::string& original = graph.info().external_data;
    location = options.weights_name ? options.weights_name(original) : place.free_name(original);
    auto created = OutputFile::create(path.parent_path() / location);
    if (!created.ok()) return std::move(created).error();
    data.emplace(std::move(*created), location);
    TRY_VOID(place_data_of_graph(exported, *data));
  }
  TRY_VOID(place_data_of_bodies(*exported.model.mutable_graph(), exported, data ? &*data : nullptr));
  if (data) TRY_VOID(data->sync());
  TRY(OutputFile model, OutputFile::create(path));
  TRY_VOID(write_model_file(exported, model));
  TRY_VOID(model.sync());
  for (const Initializer& initializer : exported.initializers) TRY_VOID(check_unchanged(initializer.data.bytes()));
  for (const Tensor& tensor : exported.of_bodies) TRY_VOID(check_unchanged(tensor.bytes()));
  if (data) TRY_VOID(data->commit());
  if (auto done = model.commit(); !done.ok()) {
    std::error_code failed;
    if (data) fs::remove(path.parent_path() / location, failed);
    return done;
  }
  place.remove_replaced();
  return {};
}

}  // namespace isomer
