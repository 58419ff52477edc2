// Sizes for the free dims of a model that its constants leave no choice for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace isomer {

/// A size for each symbolic dim of the inputs such that inference has nothing against all of them: small ones of
/// different dims where any will do, else ones that the model's constants and shapes hold (the channels that a weight
/// has). Nothing where none are found.
std::optional<std::map<std::string, int64_t>> fitting_sizes(const Graph& graph);

}  // namespace isomer
