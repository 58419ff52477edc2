// Opening a model for a command: imported, with the dims and shapes of the command line bound.
#pragma once

#include "cli/options.h"
#include "graph/graph.h"
#include "graph/onnx/import.h"

namespace isomer::cli {

struct LoadedModel {
  Graph graph;
  ImportReport file;  ///< what the file held
};

/// Errors carry the file's name.
Result<LoadedModel> load_model(const std::string& file, const CommonOptions& options);

/// For commands that need numbers: each dim of the inputs that nothing has bound is 1, said in one line that names them
/// and the flag. Gives what was bound here.
Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file,
                                                      const CommonOptions& options);

}  // namespace isomer::cli
