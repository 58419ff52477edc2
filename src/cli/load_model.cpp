#include "cli/load_model.h"

#include "cli/settings.h"

namespace isomer::cli {

Result<LoadedModel> load_model(const std::string& file, const CommonOptions& options) {
  TRY(const Settings settings, settings_of(options));
  return isomer::load_model(file, settings);
}

Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file,
                                                      const CommonOptions& options) {
  TRY(const Settings settings, settings_of(options));
  return isomer::bind_free_dims(graph, file, settings);
}

Result<void> keep_defaults(Graph& graph, const std::string& file, const CommonOptions& options) {
  TRY(const Settings settings, settings_of(options));
  return isomer::keep_defaults(graph, file, settings);
}

}  // namespace isomer::cli
