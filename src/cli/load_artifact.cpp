#include "cli/load_artifact.h"

#include <fstream>

#include "runtime/artifact_file.h"

namespace isomer::cli {
namespace {

ValueId add_port(Graph& graph, const runtime::Port& port, const runtime::Value& value) {
  Value made;
  made.name = port.name;
  made.type = ValueType::tensor(static_cast<DataType>(value.type), Shape(value.dims.begin(), value.dims.end()));
  return graph.add_value(std::move(made));
}

Graph interface_of(const runtime::Variant& variant) {
  Graph graph;
  std::vector<ValueId> inputs, outputs;
  for (const runtime::Port& port : variant.inputs) inputs.push_back(add_port(graph, port, variant.values[port.value]));
  for (const runtime::Port& port : variant.outputs) outputs.push_back(add_port(graph, port, variant.values[port.value]));
  graph.set_inputs(std::move(inputs));
  graph.set_outputs(std::move(outputs));
  return graph;
}

}  // namespace

bool is_artifact(const std::string& file) {
  std::array<char, runtime::kMagic.size()> start = {};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  return start == runtime::kMagic;
}

Result<LoadedArtifact> load_artifact(const std::string& file, const CommonOptions& options, bool timed) {
  TRY(const auto dims, options.bound_dims());
  auto model = runtime::Model::open(file);
  if (!model.ok()) return std::move(model).error().within(file);
  runtime::SessionOptions session_options;
  session_options.threads = options.thread_count();
  session_options.bindings = dims;
  session_options.timed = timed;
  auto session = runtime::Session::create(*model, session_options);
  if (!session.ok()) return std::move(session).error().within(file);
  Graph interface = interface_of((*session)->variant());
  return LoadedArtifact{std::move(*model), std::move(*session), std::move(interface)};
}

}  // namespace isomer::cli
