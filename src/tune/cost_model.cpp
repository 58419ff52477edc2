#include "tune/cost_model.h"

#include <algorithm>
#include <cmath>

namespace isomer::tune {
namespace {

constexpr size_t kLeastSamples = 48;
/// It is trained again when it has seen so much more, or so many.
constexpr double kMore = 1.2;
constexpr size_t kMany = 64;
/// Slow ones matter less, but are not forgotten.
constexpr float kLeastWeight = 0.05F;

Row row_of(const Features& features) {
  FeatureRow largest = {}, most = {}, sum = {};
  for (const FeatureRow& block : features) {
    if (block[0] > largest[0]) largest = block;  // of more points
    for (size_t k = 0; k < kColumns; ++k) {
      most[k] = std::max(most[k], block[k]);
      sum[k] += block[k];
    }
  }
  Row row;
  for (const FeatureRow* each : {&largest, &most, &sum}) row.insert(row.end(), each->begin(), each->end());
  row.push_back(static_cast<float>(features.size()));
  return row;
}

}  // namespace

void CostModel::add(size_t task, const Features& features, double microseconds) {
  if (std::isfinite(microseconds)) {
    const auto [best, is_first] = best_.try_emplace(task, microseconds);
    best->second = std::min(best->second, microseconds);
  }
  seen_.push_back({task, row_of(features), microseconds});
}

Result<void> CostModel::train() {
  std::vector<Sample> samples;
  for (const Seen& seen : seen_) {
    const auto best = best_.find(seen.task);
    const auto speed = best != best_.end() && std::isfinite(seen.microseconds)
                           ? static_cast<float>(best->second / seen.microseconds)
                           : 0;
    samples.push_back({seen.row, speed, std::max(speed, kLeastWeight)});
  }
  TRY_VOID(trees_.train(samples));
  trained_on_ = seen_.size();
  return {};
}

Result<std::optional<std::vector<double>>> CostModel::score(const std::vector<Features>& candidates) {
  std::optional<std::vector<double>> result;
  if (seen_.size() < kLeastSamples || candidates.empty()) return result;
  if (seen_.size() >= trained_on_ + kMany ||
      static_cast<double>(seen_.size()) >= kMore * static_cast<double>(trained_on_))
    TRY_VOID(train());
  std::vector<Row> rows;
  for (const Features& each : candidates) rows.push_back(row_of(each));
  TRY(result, trees_.predict(rows));
  return result;
}

}  // namespace isomer::tune
