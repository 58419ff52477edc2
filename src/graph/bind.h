// Giving symbolic dims of a graph their values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace isomer {

/// Replaces named dims by numbers and whole input shapes by concrete ones ("" names the only input), then infers anew.
/// A dim that a fixed shape decides is bound everywhere. Errors: no such dim or input; a shape that contradicts the
/// model.
Result<void> bind_inputs(Graph& graph, std::map<std::string, int64_t> dims, const std::map<std::string, Dims>& shapes);

/// Symbols that occur in the input shapes, in order of appearance.
std::vector<std::string> free_dims(const Graph& graph);

/// That of what has the `known` free dims none has this name.
Error unknown_dim(const std::vector<std::string>& known, const std::string& name);

}  // namespace isomer
