#include "driver/load_model.h"

#include <fmt/ranges.h>

#include "graph/bind.h"
#include "util/utf8.h"

namespace isomer {

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

Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file, const Settings& settings) {
  const std::vector<std::string> names = free_dims(graph);
  std::map<std::string, int64_t> bound;
  if (names.empty()) return bound;
  for (const std::string& name : names) bound.emplace(name, 1);
  if (settings.messages.note)
    settings.messages.note(fmt::format("isomer: {}: {} {} taken as 1; bind {} with --dim {}=SIZE", printable(file),
                                       printable(fmt::format("{}", fmt::join(names, ", "))),
                                       names.size() == 1 ? "is" : "are", names.size() == 1 ? "it" : "them",
                                       printable(names.front())));
  if (auto done = bind_inputs(graph, bound, {}); !done.ok()) return std::move(done).error().within(file);
  return bound;
}

}  // namespace isomer
