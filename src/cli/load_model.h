// Opening a model for a command.
#pragma once

#include "cli/options.h"
#include "driver/load_model.h"

namespace isomer::cli {

/// With the dims and shapes of the command line bound. Errors carry the file's name.
Result<LoadedModel> load_model(const std::string& file, const CommonOptions& options);

/// isomer::bind_free_dims, with its note on standard error.
Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file,
                                                      const CommonOptions& options);

/// isomer::keep_defaults, with its note.
Result<void> keep_defaults(Graph& graph, const std::string& file, const CommonOptions& options);

}  // namespace isomer::cli
