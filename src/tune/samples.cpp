#include "tune/samples.h"

#include <algorithm>
#include <cmath>

namespace isomer::tune {
namespace {

constexpr size_t kLeastSamples = 48;
constexpr double kMore = 1.2;

}  // namespace

void Samples::add(const Origin& origin, Row row, double microseconds) {
  if (std::isfinite(microseconds)) {
    const auto [best, is_first] = best_.try_emplace(origin, microseconds);
    best->second = std::min(best->second, microseconds);
  }
  seen_.push_back({origin, std::move(row), microseconds});
  if (const size_t seen = ++of_task_[origin]; seen > 1) ordered_[origin.target] += seen == 2 ? 2 : 1;
}

float Samples::speed(const Seen& seen) const {
  const auto best = best_.find(seen.origin);
  return best != best_.end() && std::isfinite(seen.microseconds) ? static_cast<float>(best->second / seen.microseconds)
                                                                 : 0;
}

bool Samples::are_enough() const { return seen_.size() >= kLeastSamples; }

bool Samples::is_time(size_t seen, size_t learned) const {
  return seen >= learned + many_ || static_cast<double>(seen) >= kMore * static_cast<double>(learned);
}

}  // namespace isomer::tune
