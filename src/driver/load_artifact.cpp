#include "driver/load_artifact.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "driver/load_model.h"
#include "runtime/artifact_file.h"

namespace isomer {
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
  for (const runtime::Port& port : variant.outputs)
    outputs.push_back(add_port(graph, port, variant.values[port.value]));
  graph.set_inputs(std::move(inputs));
  graph.set_outputs(std::move(outputs));
  return graph;
}

Result<std::shared_ptr<const runtime::Model>> open_model(const std::string& file, const Settings& settings,
                                                         const CompileChoices& choices, const BindShapes& bind) {
  if (is_artifact(file)) {
    if (!choices.schedules.empty())
      return Error{ErrorKind::kUsage, "--schedule", "a model expected, '" + file + "' is compiled already"};
    auto model = runtime::Model::open(file);
    if (!model.ok()) return std::move(model).error().within(file);
    return std::move(*model);
  }
  TRY(LoadedModel model, load_model(file, settings));
  if (bind) TRY_VOID(bind(model.graph));
  TRY_VOID(bind_free_dims(model.graph, file, settings));
  TRY(search::Compilation compiled, code_of_model(model, file, settings, choices));
  return runtime::Model::load(std::move(compiled.artifact));
}

bool has_shapes(const runtime::Variant& variant, const std::map<std::string, Dims>& shapes) {
  return std::ranges::all_of(shapes, [&](const auto& shape) {
    return std::ranges::any_of(variant.inputs, [&](const runtime::Port& port) {
      return port.name == shape.first && variant.values[port.value].dims == shape.second;
    });
  });
}

/// Of the variant whose inputs have the shapes that are given; none where none are, or there is one variant.
Result<runtime::Bindings> bindings_by_shapes(const runtime::Model& model, const Settings& settings,
                                             const BindShapes& bind) {
  const auto& shapes = settings.shapes;
  if (model.variants().size() < 2 || (shapes.empty() && !bind)) return runtime::Bindings();
  std::vector<std::string> known;
  for (const runtime::Variant* variant : model.variants()) {
    Graph interface = interface_of(*variant);
    if (has_shapes(*variant, shapes) && (!bind || bind(interface).ok())) return variant->bindings;
    known.push_back(runtime::describe(variant->bindings));
  }
  return Error{ErrorKind::kUsage, shapes.empty() ? "--load-inputs" : "--input-shapes",
               fmt::format("shapes of one of ({}) expected, others found", fmt::join(known, "; "))};
}

}  // namespace

bool is_artifact(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;  // opening a pipe would wait for its writer
  std::array<char, runtime::kMagic.size()> start = {};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  return start == runtime::kMagic;
}

Result<std::unique_ptr<runtime::Session>> open_session(runtime::Artifact artifact, int threads, MemoryLimit memory) {
  TRY(auto model, runtime::Model::load(std::move(artifact)));
  runtime::SessionOptions session_options;
  session_options.threads = threads;
  session_options.memory = memory;
  return runtime::Session::create(std::move(model), session_options);
}

Result<LoadedArtifact> load_artifact(const std::string& file, const Settings& settings,
                                     runtime::SessionOptions session_options, const CompileChoices& choices,
                                     const BindShapes& bind) {
  TRY(auto model, open_model(file, settings, choices, bind));
  session_options.threads = settings.threads;
  session_options.memory = settings.memory;
  if (is_artifact(file)) {
    session_options.bindings = settings.dims;
    if (settings.dims.empty()) {
      TRY(session_options.bindings, bindings_by_shapes(*model, settings, bind));
    }
  }
  auto session = runtime::Session::create(model, session_options);
  if (!session.ok()) return std::move(session).error().within(file);
  LoadedArtifact loaded{std::move(model), std::move(*session), {}, {}};
  const runtime::Variant& variant = loaded.session->variant();
  loaded.interface = interface_of(variant);
  for (const runtime::Port& port : variant.inputs)
    loaded.demands[port.name] = {port.below > 0 ? std::optional(port.below) : std::nullopt, port.not_zero};
  return loaded;
}

}  // namespace isomer
