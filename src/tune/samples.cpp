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
}

float Samples::speed(const Seen& seen) const {
  const auto best = best_.find(seen.origin);
  return best != best_.end() && std::isfinite(seen.microseconds) ? static_cast<float>(best->second / seen.microseconds)
                                                                 : 0;
}

bool Samples::are_enough() const { return seen_.size() >= kLeastSamples; }

bool Samples::are_to_be_learned() const {
  return seen_.size() >= learned_ + many_ || static_cast<double>(seen_.size()) >= kMore * static_cast<double>(learned_);
}

}  // namespace isomer::tune
