#include "cli/load_artifact.h"

#include "cli/model_inputs.h"
#include "cli/settings.h"

namespace isomer::cli {

Result<LoadedArtifact> load_artifact(const std::string& file, const CommonOptions& options,
                                     runtime::SessionOptions session, const CompileChoices& choices,
                                     const InputOptions& inputs) {
  TRY(const Settings settings, settings_of(options));
  const BindShapes bind = [&](Graph& graph) { return bind_loaded(graph, file, inputs, settings.memory); };
  return isomer::load_artifact(file, settings, session, choices, inputs.files.empty() ? nullptr : bind);
}

}  // namespace isomer::cli
