#include "util/random.h"

#include <cmath>
#include <numbers>

#include "util/hash.h"

namespace isomer {

uint64_t Random::next() { return mix64(state_ += 0x9E3779B97F4A7C15ULL); }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace isomer
