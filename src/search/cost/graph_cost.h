// What a graph takes to run (DESIGN.md 6). Test: tests/search/optimize_model_test.cpp
#pragma once

#include <utility>

#include "graph/graph.h"
#include "search/cost/task_timer.h"

namespace isomer::search {

struct Cost {
  double microseconds = 0;
  bool is_measured = true;  ///< false: some of it is estimated
};

enum class Effort : uint8_t {
  kLookUp,   ///< what was never measured is estimated
  kMeasure,  ///< it is measured
};

class GraphCost {
 public:
  virtual ~GraphCost() = default;
  /// Of a part of a model: its inputs and outputs lie in memory as suits it, its constants may hold anything. What
  /// depends on constants alone costs nothing: it is computed beforehand. Errors: what can't be run, by name.
  virtual Result<Cost> cost(const Graph& part, Effort effort) = 0;
  /// Of two parts that do the same: what only one of them has is measured once more where that is cheap.
  virtual Result<std::pair<Cost, Cost>> compare(const Graph& part, const Graph& other);
};

/// Our own code: the sum over the tasks that the graph is fused into, each with its default schedule.
class TaskCost final : public GraphCost {
 public:
  /// Both outlive it.
  TaskCost(const CompileOptions& options, TaskTimer& timer) : options_(options), timer_(timer) {}
  Result<Cost> cost(const Graph& part, Effort effort) override;
  Result<std::pair<Cost, Cost>> compare(const Graph& part, const Graph& other) override;

 private:
  /// A part as it is run.
  struct Fused {
    Graph graph;
    std::vector<Task> tasks;
  };
  Result<Fused> fused(const Graph& part) const;
  Result<Cost> cost(const Fused& part, Effort effort);

  const CompileOptions& options_;
  TaskTimer& timer_;
  // Sums over what was measured: estimates are rooflines times the mean of what measuring gave more.
  double logarithms_ = 0;
  int measured_ = 0;
};

/// Which of the nodes that depend on constants alone are computed before a model runs.
enum class Folded : uint8_t {
  kAll,
  kAllButDequantized,  ///< other runtimes compute with quantized numbers as they are (PassOptions::keep_composites)
  kHeld,               ///< those that only hold a constant
};
/// They give way to constants of their types.
Result<void> assume_folded(Graph& graph, Folded folded);

}  // namespace isomer::search
