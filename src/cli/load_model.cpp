#include "cli/load_model.h"

#include "graph/bind.h"

namespace isomer::cli {

Result<LoadedModel> load_model(const std::string& file, const CommonOptions& options) {
  TRY(auto dims, options.bound_dims());
  TRY(const auto shapes, options.bound_shapes());
  LoadedModel model;
  ImportOptions import;
  import.report = &model.file;
  auto graph = import_model(file, import);
  if (!graph.ok()) return std::move(graph).error().within(file);
  model.graph = std::move(*graph);
  if (options.verbosity > 0)
    for (const std::string& sentence : wrong_declarations(model.graph))
      note(options, "{}: {}", printable(file), printable(sentence));
  auto bound = bind_inputs(model.graph, std::move(dims), shapes);
  if (!bound.ok()) return std::move(bound).error().within(file);
  return model;
}

}  // namespace isomer::cli
