// Integer arithmetic that neither overflows nor surprises: saturating at ±2^62, and division that rounds down.
#pragma once

#include <algorithm>
#include <cstdint>

namespace isomer::te {

inline constexpr int64_t kSaturated = int64_t{1} << 62;

constexpr int64_t saturate(__int128 value) {
  return static_cast<int64_t>(std::clamp<__int128>(value, -kSaturated, kSaturated));
}
constexpr int64_t saturating_add(int64_t a, int64_t b) { return saturate(static_cast<__int128>(a) + b); }
constexpr int64_t saturating_sub(int64_t a, int64_t b) { return saturate(static_cast<__int128>(a) - b); }
constexpr int64_t saturating_mul(int64_t a, int64_t b) { return saturate(static_cast<__int128>(a) * b); }

/// b != 0
constexpr int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return saturating_sub(0, a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
/// b != 0; has the sign of b
constexpr int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
constexpr int64_t ceil_div(int64_t a, int64_t b) { return floor_div(saturating_add(a, b - 1), b); }

}  // namespace isomer::te
