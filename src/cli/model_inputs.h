// The inputs that a command runs a model on: from files or generated, in the order of the graph's inputs.
#pragma once

#include <vector>

#include "cli/options.h"
#include "graph/graph.h"
#include "graph/te/array.h"
#include "verify/check/inputs.h"

namespace isomer::cli {

/// Reads --load-inputs (a test_data_set folder, .npz, .npy, .pb, or name:FILE of these) and generates the rest, which
/// must be tensors. Binds the graph's symbolic dims to the shapes that were read, and others as bind_free_dims does.
/// `file` is the model's.
Result<std::vector<te::Array>> model_inputs(Graph& graph, const std::string& file, const InputOptions& inputs,
                                            const CommonOptions& options,
                                            const std::map<std::string, Demand>& demands = {});

/// Binds the graph's symbolic dims to the shapes that --load-inputs has. `file` is the model's.
Result<void> bind_loaded(Graph& graph, const std::string& file, const InputOptions& inputs, MemoryLimit memory);

}  // namespace isomer::cli
