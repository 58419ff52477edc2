// What a model has to do wherever it runs: arithmetic, memory traffic, nodes, weights, counted and not timed. A rewrite
// that needs no more of any of them is no slower in a runtime that we know nothing of, as far as anyone can say without
// running it there. Test: tests/search/work_test.cpp
#pragma once

#include <optional>

#include "search/cost/graph_cost.h"

namespace isomer::search {

// A core with vectors, as found in servers of the last ten years, within a factor of three.
inline constexpr double kOperationsPerMicrosecond = 6e4;
inline constexpr double kBytesPerMicrosecond = 1e4;

struct NodeWork {
  double operations = 0;  ///< on floats; a multiply-add is two
  double bytes = 0;       ///< of its inputs and outputs
  bool reduces = false;   ///< it is more than a map or a movement of elements
  bool is_view = false;   ///< it only gives its input another shape
};
/// Nothing where its row or its types don't say.
std::optional<NodeWork> work_of(const Graph& graph, NodeId id);

/// Of all nodes.
struct Work {
  double operations = 0;
  double bytes = 0;  ///< that they read and write, each by itself; views none
  int nodes = 0;
  int64_t weight_bytes = 0;  ///< of constants that they read, parameters such as axes aside
  double microseconds = 0;   ///< that a runtime takes which runs one after the other, roughly
};

/// Of a graph whose sizes are known. Errors, kUnsupported: a node of a domain of ours, which other runtimes lack.
Result<Work> work_of(const Graph& graph, Folded folded = Folded::kAllButDequantized);

/// Whether it is no more arithmetic, traffic, nodes and weights than the other.
bool is_no_more(const Work& work, const Work& than);
/// The same of graphs, whether a runtime computes beforehand what depends on constants alone or not.
Result<bool> needs_no_more(const Graph& graph, const Graph& than);

/// Costs without a clock: the same on every machine.
class WorkCost final : public GraphCost {
 public:
  Result<Cost> cost(const Graph& part, Effort effort) override;
};

}  // namespace isomer::search
