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

using Variants = std::vector<const runtime::Variant*>;

/// "" names the only input.
bool has_shapes(const runtime::Variant& variant, const std::map<std::string, Dims>& shapes) {
  return std::ranges::all_of(shapes, [&](const auto& shape) {
    return std::ranges::any_of(variant.inputs, [&](const runtime::Port& port) {
      const bool is_named = shape.first.empty() ? variant.inputs.size() == 1 : port.name == shape.first;
      return is_named && variant.values[port.value].dims == shape.second;
    });
  });
}

bool has_dims(const runtime::Variant& variant, const std::map<std::string, int64_t>& dims) {
  return std::ranges::all_of(dims, [&](const auto& dim) {
    const auto bound = variant.bindings.find(dim.first);
    return bound != variant.bindings.end() && bound->second == dim.second;
  });
}

/// What a user can ask for.
std::string text_of(const Variants& variants) {
  std::vector<std::string> texts;
  if (variants.size() == 1)
    for (const runtime::Port& port : variants[0]->inputs)
      texts.push_back(fmt::format("{}:[{}]", port.name, fmt::join(variants[0]->values[port.value].dims, ",")));
  else
    for (const runtime::Variant* variant : variants) texts.push_back(runtime::describe(variant->bindings));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// Of several variants the one whose other dims are 1, with a note; nothing where there is none.
const runtime::Variant* with_ones(const Variants& variants, const std::string& file, const Settings& settings) {
  for (const runtime::Variant* variant : variants) {
    std::vector<std::string> taken;
    bool are_ones = true;
    for (const auto& [name, size] : variant->bindings)
      if (!settings.dims.contains(name)) {
        taken.push_back(name);
        are_ones &= size == 1;
      }
    if (!are_ones) continue;
    if (settings.messages.note && !taken.empty()) settings.messages.note(taken_as_one(file, taken));
    return variant;
  }
  return nullptr;
}

/// Of the variant that has the dims and shapes that are given, and takes the inputs. What is left open is 1 where there
/// are several. Where there is none, it is the session that says so.
Result<runtime::Bindings> bindings_of(const runtime::Model& model, const std::string& file, const Settings& settings,
                                      const BindShapes& bind) {
  Variants left;
  for (const runtime::Variant* variant : model.variants())
    if (has_dims(*variant, settings.dims)) left.push_back(variant);
  if (left.empty()) return settings.dims;
  const Variants known = left;
  std::erase_if(left, [&](const runtime::Variant* variant) {
    Graph interface = interface_of(*variant);
    // Of one alone it is told what does not fit when inputs are read.
    return !has_shapes(*variant, settings.shapes) || (known.size() > 1 && bind && !bind(interface).ok());
  });
  if (left.empty())
    return Error{ErrorKind::kUsage, settings.shapes.empty() ? "--load-inputs" : "--input-shapes",
                 fmt::format("shapes of one of ({}) expected, others found", text_of(known))};
  if (left.size() == 1) return left[0]->bindings;
  const runtime::Variant* const found = with_ones(left, file, settings);
  return found ? found->bindings : settings.dims;
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
    auto bindings = bindings_of(*model, file, settings, bind);
    if (!bindings.ok()) return std::move(bindings).error().within(file);
    session_options.bindings = *std::move(bindings);
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
