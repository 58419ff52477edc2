// Inclusive bounds of an integer value while a stage is planned. An operation whose exact result could leave int64 has
// no bounds: it wraps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/te/interpret/arithmetic.h"

namespace isomer::te::interpreter {

struct Range {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  static Range exactly(int64_t value) { return {value, value}; }
  static Range of(IntegerType type) {
    if (type.is_bool) return {0, 1};
    if (type.bits == 64) return {};
    if (!type.is_signed) return {0, (int64_t{1} << type.bits) - 1};
    return {-(int64_t{1} << (type.bits - 1)), (int64_t{1} << (type.bits - 1)) - 1};
  }
  bool operator==(const Range&) const = default;
  bool within(Range other) const { return other.low <= low && high <= other.high; }
  bool contains(int64_t value) const { return low <= value && value <= high; }
  /// Small enough that sums of a few of them, and differences, stay in int64.
  bool is_bounded() const { return within({-(int64_t{1} << 60), int64_t{1} << 60}); }
  int64_t magnitude() const { return std::max(high, low == std::numeric_limits<int64_t>::min() ? high : -low); }
};

inline Range exact_or_none(__int128 low, __int128 high) {
  const Range all;
  return low < all.low || high > all.high ? all : Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}
inline Range operator+(Range a, Range b) {
  return exact_or_none(static_cast<__int128>(a.low) + b.low, static_cast<__int128>(a.high) + b.high);
}
inline Range operator-(Range a, Range b) {
  return exact_or_none(static_cast<__int128>(a.low) - b.high, static_cast<__int128>(a.high) - b.low);
}
inline Range operator*(Range a, Range b) {
  const __int128 products[] = {static_cast<__int128>(a.low) * b.low, static_cast<__int128>(a.low) * b.high,
                               static_cast<__int128>(a.high) * b.low, static_cast<__int128>(a.high) * b.high};
  return exact_or_none(*std::min_element(products, products + 4), *std::max_element(products, products + 4));
}
inline Range intersection(Range a, Range b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }
inline Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

}  // namespace isomer::te::interpreter
