#include "graph/minifloat.h"

#include <cmath>
#include <limits>

#include "util/check.h"

namespace isomer {

Minifloat minifloat_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat8E4M3FN:
      return {.exponent_bits = 4, .mantissa_bits = 3, .bias = 7, .largest = 0x7e, .nan = 0x7f};
    case DataType::kFloat8E4M3FNUZ:
      return {
          .exponent_bits = 4, .mantissa_bits = 3, .bias = 8, .has_negative_zero = false, .largest = 0x7f, .nan = 0x80};
    case DataType::kFloat8E5M2:
      return {.exponent_bits = 5, .mantissa_bits = 2, .bias = 15, .has_infinity = true, .largest = 0x7b, .nan = 0x7e};
    case DataType::kFloat8E5M2FNUZ:
      return {
          .exponent_bits = 5, .mantissa_bits = 2, .bias = 16, .has_negative_zero = false, .largest = 0x7f, .nan = 0x80};
    case DataType::kFloat4E2M1: return {.exponent_bits = 2, .mantissa_bits = 1, .bias = 1, .largest = 0x7};
    case DataType::kFloat8E8M0:
      return {.exponent_bits = 8,
              .bias = 127,
              .is_signed = false,
              .has_negative_zero = false,
              .largest = 0xfe,
              .nan = 0xff};
    default: CHECK(false) << name(dtype) << " is no minifloat";
  }
  return {};
}

double decode_minifloat(DataType dtype, int code) {
  const Minifloat format = minifloat_of(dtype);
  if (!format.is_signed)
    return code == format.nan ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1, code - format.bias);
  const int magnitude = code & (format.sign() - 1);
  const bool is_negative = (code & format.sign()) != 0;
  if (is_negative && magnitude == 0 && !format.has_negative_zero) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > format.largest) {
    const bool is_infinite = format.has_infinity && magnitude == format.largest + 1;
    if (!is_infinite) return std::numeric_limits<double>::quiet_NaN();
    return is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  const int exponent = magnitude >> format.mantissa_bits, leading = 1 << format.mantissa_bits;
  const int mantissa = magnitude & (leading - 1);
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                                     : std::ldexp(mantissa + leading, exponent - format.bias - format.mantissa_bits);
  return is_negative ? -value : value;
}

int nearest_minifloat(DataType dtype, double value) {
  const Minifloat format = minifloat_of(dtype);
  const double magnitude = format.is_signed ? std::fabs(value) : value;
  // Values grow with their codes.
  int low = 0, high = format.largest;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (decode_minifloat(dtype, middle) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  const double below = decode_minifloat(dtype, low);
  if (low < format.largest && decode_minifloat(dtype, low + 1) - magnitude < magnitude - below) ++low;
  return format.is_signed && value < 0 && low > 0 ? low | format.sign() : low;
}

}  // namespace isomer
