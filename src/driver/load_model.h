// Opening a model for work: imported, with dims and shapes of its inputs bound.
#pragma once

#include <filesystem>
#include <span>

#include "driver/settings.h"
#include "graph/graph.h"
#include "graph/onnx/import.h"

namespace isomer {

struct LoadedModel {
  Graph graph;
  ImportReport file;  ///< what the file held
};

/// Errors carry the file's name.
Result<LoadedModel> load_model(const std::string& file, const Settings& settings);

/// An error of kind kUsage where one of these places is that of the model's own weights. `file` is the model's.
Result<void> check_apart(const LoadedModel& model, const std::string& file,
                         std::span<const std::filesystem::path> places);

/// "isomer: FILE: batch, seq are taken as 1; bind them with --dim batch=SIZE"
std::string taken_as_one(const std::string& file, const std::vector<std::string>& dims);

/// For what needs numbers: each dim of the inputs that nothing has bound is 1, said in a note that names them. Gives
/// what was bound here.
Result<std::map<std::string, int64_t>> bind_free_dims(Graph& graph, const std::string& file, const Settings& settings);

/// Artifacts have no inputs that may be left out: those that have a value in the file keep it, said in a note that
/// names them, and are inputs no more.
Result<void> keep_defaults(Graph& graph, const std::string& file, const Settings& settings);

/// Binds the dims of a model's inputs as those of another are, which they are in the order of. An error of kind
/// kMismatch where inputs don't fit. Errors carry the file's name.
Result<void> bind_like(Graph& graph, const std::string& file, const Graph& other);

}  // namespace isomer
