// How fast candidates are thought to be, learned from those that were measured, of all tasks together: several models
// behind one interface. Test: tests/tune/cost_model_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/machine.h"
#include "tune/candidates.h"
#include "tune/feature_kinds.h"
#include "tune/trees.h"

namespace isomer::tune {

/// Times of one task on one target are compared with its best there.
struct Origin {
  size_t task = 0;
  size_t target = 0;
  auto operator<=>(const Origin&) const = default;
};

/// Same seed, same order of additions: same scores.
class CostModel {
 public:
  virtual ~CostModel() = default;
  /// What it sees of a candidate. For several threads at once.
  virtual Row look(const Candidate& candidate, const kernel::Machine& machine) const = 0;
  /// Microseconds of a candidate; infinite: it failed.
  virtual void add(const Origin& origin, Row seen, double microseconds) = 0;
  /// Of candidates of one task on a target: larger is faster; nothing before enough was measured. Errors: those of the
  /// library that it learns by, and where it is stopped (util/stop.h).
  virtual Result<std::optional<std::vector<double>>> score(std::span<const Row> candidates, size_t target) = 0;
};

/// Times of a task are compared with the task's best: what is learned of one holds of others (Ansor: Zheng et al. 2020,
/// section 5.2). All targets are as one. Of `nest` the draft has its say besides.
std::unique_ptr<CostModel> trees_model(Trees trees, FeatureKind kind);

/// What counts say (draft.h): it learns nothing.
std::unique_ptr<CostModel> draft_model();

enum class CostModelKind : uint8_t {
  kTrees,   ///< XGBoost's
  kTraces,  ///< TLP (trace_model.h)
  kDraft,
};

struct CostModelOptions {
  CostModelKind kind = CostModelKind::kTrees;
  FeatureKind features = FeatureKind::kNest;  ///< what trees see
  uint64_t seed = 0;
};
/// Errors (kUnsupported): its library is not here.
Result<std::unique_ptr<CostModel>> open_model(const CostModelOptions& options);

}  // namespace isomer::tune
