// The inputs that a command runs a model on: from files or generated, in the order of the graph's inputs.
#pragma once

#include <vector>

#include "cli/options.h"
#include "graph/graph.h"
#include "verify/inputs.h"

namespace isomer::cli {

Result<FillOptions> fill_options(const InputOptions& options, uint64_t seed);

/// Reads --load-inputs (a test_data_set folder, .npz, .npy, .pb, or name:FILE of these), generates the rest, and binds
/// the graph's symbolic dims to the shapes that were read.
Result<std::vector<Tensor>> model_inputs(Graph& graph, const InputOptions& options, uint64_t seed,
                                         const std::map<std::string, int64_t>& bounds = {});

}  // namespace isomer::cli
