// What a rewrite changes of a program's cost: that of the applications around it, before and after. Layers repeat, so
// most of these windows have been seen before. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <unordered_map>

#include "search/cost/estimate.h"
#include "search/cost/graph_cost.h"
#include "substitutions/rewrite/apply.h"

namespace isomer::search {

struct WindowOptions {
  int reach = 3;  ///< applications on the way from what changed to the border, where they only move or map elements
  int applications = 28;  ///< in a window, as far as what changed leaves room
};

class CostChanges {
 public:
  /// The costs outlive it.
  explicit CostChanges(GraphCost& costs, const WindowOptions& options = {}) : costs_(costs), options_(options) {}

  /// Of a whole program, no part of which is opaque.
  Result<Cost> whole(const substitutions::Program& program, Effort effort);
  /// Of two programs that compute the same, once more (GraphCost::compare).
  Result<std::pair<Cost, Cost>> compare(const substitutions::Program& program, const substitutions::Program& other);
  /// Microseconds after less those before. Errors: a window that can't be run.
  Result<Cost> change(const substitutions::Program& before, const substitutions::Rewritten& after, Effort effort);
  /// The same by Estimates, in no time.
  double estimate(const substitutions::Program& before, const substitutions::Rewritten& after);
  /// What a rewrite does to the work that there is.
  enum class Effect : uint8_t {
    kMaySave,
    kOtherSum,  ///< more applications, and no less work, but another sum, of about as many products: others may know
                ///< how to do that with fewer
    kAdds,      ///< the same, and nothing else: x + y as ((x + x) + y) - x
  };
  Effect effect(const substitutions::Program& before, const substitutions::Rewritten& after);
  /// Whether all that became computable beforehand is computed then: what is too large or takes too long is not.
  bool can_be_folded(const substitutions::Rewritten& after);

  struct Statistics {
    int64_t windows = 0, known = 0;
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  static std::vector<int> all_of(const substitutions::Program& program);
  Result<Cost> window(const substitutions::Program& program, std::span<const int> applications, Effort effort);
  std::vector<int> around(const substitutions::Program& before, const substitutions::Rewritten& after);

  GraphCost& costs_;
  WindowOptions options_;
  Estimates estimates_;
  std::unordered_map<Hash128, Result<Cost>> known_;
  Statistics statistics_;
};

}  // namespace isomer::search
