// A Graph becomes a model file at the model's own opset: names, order, types and shapes of inputs and outputs as they
// came, standard operators only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "graph/graph.h"
#include "util/result.h"

namespace isomer {

struct ExportOptions {
  /// More weights than this go to a file beside the model; so they do where the input had them outside.
  int64_t inline_bytes = 1'500'000'000;
  /// What that file is called; empty: as a WeightsPlace beside the model has it, so that a model that is replaced
  /// stands with its weights until the new one does.
  std::function<std::string(const std::string& original)> weights_name = {};
};

/// Writes the model, and its weights beside it where they don't stand in it, under temporary names first: on failure no
/// file is left and none is touched. Weights go from their mapping to the file. An error where a node can't be said in
/// the model's opset, or where a file that weights are mapped from has changed since.
Result<void> export_model(const Graph& graph, const std::filesystem::path& path, const ExportOptions& options = {});

}  // namespace isomer
