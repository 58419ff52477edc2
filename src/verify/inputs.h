// Seeded inputs for running and comparing models.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace isomer {

enum class Fill : uint8_t { kRandom, kZeros, kOnes, kArange };

struct FillOptions {
  uint64_t seed = 0;
  Fill fill = Fill::kRandom;
  /// Uniform values in [low, high] for the inputs named ("": every float input).
  std::map<std::string, std::pair<double, double>> ranges = {};
  /// What integers of the inputs named stay below, where the graph's nodes don't say.
  std::map<std::string, int64_t> bounds = {};
};

/// One tensor an input of the graph, in order: floats normal(0,1); integers uniform below the size of the axis that
/// they index (as the programs of their readers say), else in [0, 8); bools fair. An input with a default keeps it.
/// Errors: an unbound dim (naming the dims), a type that has no arithmetic.
Result<std::vector<Tensor>> generate_inputs(const Graph& graph, const FillOptions& options);

/// The least size of an axis that elements of this integer value index, followed through readers that only move or cast
/// it; nothing where no reader indexes with it.
std::optional<int64_t> index_bound(const Graph& graph, ValueId value);

}  // namespace isomer
