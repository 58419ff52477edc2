#include "tune/cost_model.h"

#include <algorithm>
#include <cmath>

#include "tune/draft.h"
#include "tune/samples.h"
#include "tune/trace_model.h"

namespace isomer::tune {
namespace {

/// Slow ones matter less, but are not forgotten.
constexpr float kLeastWeight = 0.05F;
/// Of the speed beside the fastest candidate's that the draft says, beside that which was learned.
constexpr double kDrafted = 0.5;
/// Samples after which trees are trained anew.
constexpr size_t kManyForTrees = 64;

class TreesModel : public CostModel {
 public:
  TreesModel(Trees trees, FeatureKind kind) : trees_(std::move(trees)), kind_(kind) {}

  Row look(const Candidate& candidate, const kernel::Machine& machine) const override {
    return row_of(kind_, candidate, machine);
  }
  void add(const Origin& origin, Row seen, double microseconds) override {
    samples_.add(origin, std::move(seen), microseconds);
  }
  Result<std::optional<std::vector<double>>> score(std::span<const Row> candidates, size_t) override {
    std::optional<std::vector<double>> result;
    if (!samples_.are_enough() || candidates.empty()) return result;
    if (samples_.are_to_be_learned()) TRY_VOID(train());
    TRY(result, trees_.predict(candidates));
    if (kind_ == FeatureKind::kNest) add_drafted(candidates, *result);
    return result;
  }

 private:
  /// Of models that nothing was learned of trees know less than the draft.
  static void add_drafted(std::span<const Row> candidates, std::vector<double>& scores) {
    const auto cycles = [](const Row& row) { return row.back() + row[kPoints]; };  // their logarithm
    const float least = cycles(*std::ranges::min_element(candidates, {}, cycles));
    for (size_t k = 0; k < candidates.size(); ++k) scores[k] += kDrafted * std::exp2(least - cycles(candidates[k]));
  }

  Result<void> train() {
    std::vector<Sample> samples;
    for (const Samples::Seen& seen : samples_.all()) {
      const float speed = samples_.speed(seen);
      samples.push_back({seen.row, speed, std::max(speed, kLeastWeight)});
    }
    TRY_VOID(trees_.train(samples));
    samples_.learned();
    return {};
  }

  Trees trees_;
  const FeatureKind kind_;
  Samples samples_{kManyForTrees};
};

class DraftModel : public CostModel {
 public:
  Row look(const Candidate& candidate, const kernel::Machine& machine) const override {
    return {static_cast<float>(std::log(drafted_cycles(features_of(candidate.made.kernel, machine), machine)))};
  }
  void add(const Origin&, Row, double) override {}
  Result<std::optional<std::vector<double>>> score(std::span<const Row> candidates, size_t) override {
    std::vector<double> scores;
    for (const Row& each : candidates) scores.push_back(-each[0]);
    return std::optional(std::move(scores));
  }
};

}  // namespace

std::unique_ptr<CostModel> draft_model() { return std::make_unique<DraftModel>(); }

std::unique_ptr<CostModel> trees_model(Trees trees, FeatureKind kind) {
  return std::make_unique<TreesModel>(std::move(trees), kind);
}

Result<std::unique_ptr<CostModel>> open_model(const CostModelOptions& options) {
  if (options.kind == CostModelKind::kTraces) return trace_model(options.seed);
  if (options.kind == CostModelKind::kDraft) return draft_model();
  TRY(Trees trees, Trees::open(options.seed));
  return trees_model(std::move(trees), options.features);
}

}  // namespace isomer::tune
