// Of lists of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace isomer {

/// The value nearest to so much of the sorted list, from 0 (the least) to 1; the list is not empty.
inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace isomer
