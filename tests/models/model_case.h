// A model of models/ from weights to optimized file: what the tests assert and the table prints.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/result.h"

namespace isomer::test {

struct ModelOutcome {
  int64_t nodes_before = 0, nodes_after = 0;
  int64_t bytes_before = 0, bytes_after = 0;  ///< of weights, equal ones once
  int opaque_nodes = 0;
  int values_without_shape = 0;
  /// Largest difference from expected.json, as a share of what is allowed: 1e-4 of the output's largest value + 1e-6.
  double error = 0, error_optimized = 0;
  double import_seconds = 0, run_seconds = 0, optimize_seconds = 0;
};

/// Names in expected.json, in its order.
std::vector<std::string> model_names();

/// Fills the model's weights in a scratch folder, imports, runs it on expected.json's inputs, optimizes it, writes and
/// re-reads the result, and runs that.
Result<ModelOutcome> run_model(const std::string& name, int threads);

/// The command lines' flags that fix the model's input shapes as in expected.json.
std::vector<std::string> shape_flags(const std::string& name);

/// The same as bind_inputs takes them.
std::map<std::string, std::vector<int64_t>> input_shapes(const std::string& name);

/// The model with its weights, in a folder.
Result<std::filesystem::path> fill_model(const std::string& name, const std::filesystem::path& folder);

/// Node counts of a model: what onnxsim and onnxslim leave (recorded), and the most that we may.
struct NodeCeiling {
  int64_t onnxsim = 0, onnxslim = 0, ours = 0;
};
std::optional<NodeCeiling> node_ceiling(const std::string& name);

}  // namespace isomer::test
