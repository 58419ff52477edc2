#include "driver/load_model.h"

#include <fmt/ranges.h>

#include "graph/bind.h"
#include "graph/edit.h"
#include "util/output_file.h"
#include "util/utf8.h"

namespace isomer {

namespace fs = std::filesystem;

Result<LoadedModel> load_model(const std::string& file, const Settings& settings) {
  LoadedModel model;
  ImportOptions import;
  import.report = &model.file;
  import.operators = settings.operators;
  auto graph = import_model(file, import);
  if (!graph.ok()) return std::move(graph).error().within(file);
  model.graph = std::move(*graph);
  if (settings.messages.detail)
    for (const std::string& sentence : wrong_declarations(model.graph))
      settings.messages.detail(fmt::format("{}: {}", printable(file), printable(sentence)));
  auto bound = bind_inputs(model.graph, settings.dims, settings.shapes);
  if (!bound.ok()) return std::move(bound).error().within(file);
  return model;
}

Result<void> check_apart(const LoadedModel& model, const std::string& file, std::span<const fs::path> places) {
  for (const std::string& weights : model.file.external_files)
    for (const fs::path& place : places)
      if (is_same_file(fs::path(file).parent_path() / weights, place))
        return Error{ErrorKind::kUsage, place.string(),
                     fmt::format("another file expected than that of the weights of {}", file)};
  return {};
}

std::string taken_as_one(const std::string& file, const std::vector<std::string>& dims) {
  const bool is_one = dims.size() == 1;
  return fmt::format("isomer: {}: {} {} taken as 1; bind {} with --dim {}=SIZE", printable(file),
                     printable(fmt::format("{}", fmt::join(dims, ", "))), is_one ? "is" : "are", is_one ? "it" : "them",
                     printable(dims.front()));
}

Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file, const Settings& settings) {
  const std::vector<std::string> names = free_dims(graph);
  std::map<std::string, int64_t> bound;
  if (names.empty()) return bound;
  for (const std::string& name : names) bound.emplace(name, 1);
  if (settings.messages.note) settings.messages.note(taken_as_one(file, names));
  if (auto done = bind_inputs(graph, bound, {}); !done.ok()) return std::move(done).error().within(file);
  return bound;
}

Result<void> keep_defaults(Graph& graph, const std::string& file, const Settings& settings) {
  std::vector<ValueId> inputs;
  std::vector<std::string> kept;
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    if (!value.constant) {
      inputs.push_back(input);
      continue;
    }
    kept.push_back(value.name);
    graph.replace_uses(input, graph.add_constant(*value.constant, graph.fresh_name(value.name)));
  }
  if (kept.empty()) return {};
  graph.set_inputs(std::move(inputs));
  settings.messages.say(fmt::format("isomer: {}: {} {} the value that the file gives {}", printable(file),
                                    printable(fmt::format("{}", fmt::join(kept, ", "))),
                                    kept.size() == 1 ? "keeps" : "keep", kept.size() == 1 ? "it" : "them"));
  if (auto done = infer_all(graph); !done.ok()) return std::move(done).error().within(file);
  return {};
}

Result<void> bind_like(Graph& graph, const std::string& file, const Graph& other) {
  std::map<std::string, Dims> shapes;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueType& type = other.value(other.inputs()[i]).type;
    if (const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt)
      shapes.emplace(graph.value(graph.inputs()[i]).name, *dims);
  }
  auto bound = bind_inputs(graph, {}, shapes);
  if (bound.ok()) return bound;
  Error error = std::move(bound).error();
  if (error.kind == ErrorKind::kInvalid) error.kind = ErrorKind::kMismatch;
  return std::move(error).within(file);
}

}  // namespace isomer
