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

}  // namespace

void CostModel::add(size_t task, Features features, double microseconds) {
  if (std::isfinite(microseconds)) {
    const auto [best, is_first] = best_.try_emplace(task, microseconds);
    best->second = std::min(best->second, microseconds);
  }
  seen_.push_back({task, std::move(features), microseconds});
}

Result<void> CostModel::train() {
  std::vector<Sample> samples;
  for (const Seen& seen : seen_) {
    const auto best = best_.find(seen.task);
    const auto speed = best != best_.end() && std::isfinite(seen.microseconds)
                           ? static_cast<float>(best->second / seen.microseconds)
                           : 0;
    samples.push_back({seen.features, speed, std::max(speed, kLeastWeight)});
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
  TRY(result, trees_.predict(candidates));
  return result;
}

}  // namespace isomer::tune
