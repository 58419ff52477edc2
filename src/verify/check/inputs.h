// Seeded inputs for running and comparing models.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "util/memory_limit.h"

namespace isomer {

enum class Fill : uint8_t { kRandom, kZeros, kOnes, kArange };

/// What the readers of an integer value ask of its elements, as their programs and types say: to index an axis of this
/// size or to be an axis (nothing: no reader does), and not to be zero where integers are divided by them. Followed
/// through what only moves or casts them, and into bodies that capture them.
struct Demand {
  std::optional<int64_t> below;
  bool not_zero = false;
};
Demand demand_on(const Graph& graph, ValueId value);

struct FillOptions {
  uint64_t seed = 0;
  Fill fill = Fill::kRandom;
  bool masks = false;  ///< of odd seeds, random integers that may be masks are such: 0 or 1
  bool bytes = false;  ///< of odd seeds, random bytes that become no indices, sizes or shifts are any that there are
  bool even = false;   ///< random integers: one for all elements of an input
  /// Uniform values in [low, high], which the type must have, for the inputs named ("": every float input).
  std::map<std::string, std::pair<double, double>> ranges = {};
  /// What is asked of the inputs named, where the graph has no nodes that say.
  std::map<std::string, Demand> demands = {};
  MemoryLimit memory = {};
};

/// One tensor an input of the graph, in order: floats normal(0,1); integers uniform below the size of the axis that
/// they index or the rank that they are axes of (as their readers say), else in [0, 8), or where it is asked for as
/// masks are, of which more than 1 may overflow, or over all of a byte; without 0 where integers are divided by them;
/// bools fair. Where a node computes what integers are divided by, inputs are drawn again until that is not 0, a few
/// times. An input with a default keeps it, and whether it is there changes no other. Errors: an unbound dim (naming
/// the dims), a type that has no arithmetic, more elements than fit into memory.
Result<std::vector<Tensor>> generate_inputs(const Graph& graph, const FillOptions& options);

}  // namespace isomer
