#include "graph/ops/minifloat_casts.h"

#include <cmath>
#include <limits>

#include "graph/minifloat.h"

namespace isomer::ops {
namespace {

using te::BinaryOp;
using te::Expr;
using te::Number;
using te::UnaryOp;

Number power_of_two(int exponent) { return Number(std::ldexp(1.0, exponent)); }
Expr code_of(int value) { return te::literal(Number(value), DataType::kInt32); }
Expr bits_of(Expr code, int mask) { return te::binary(BinaryOp::kAnd, std::move(code), code_of(mask)); }

/// The same powers of two, a factor for each bit of the exponent.
Expr decoded_exponent(const Expr& code, const Minifloat& format) {
  Expr value = te::literal(power_of_two(-format.bias), DataType::kFloat64);
  for (int bit = 0; bit < format.exponent_bits; ++bit)
    value = value * te::select(te::equal(bits_of(code, 1 << bit), 0), te::literal(1, DataType::kFloat64),
                               te::literal(power_of_two(1 << bit), DataType::kFloat64));
  return te::cast(DataType::kFloat32, value);
}

/// x = y * 2^k with y in [1, 2) and k at most `most`, of x in [1, 2^(most + 1)); less than 1 is y itself.
std::pair<Expr, Expr> normalized(Expr x, int most) {
  Expr shift = code_of(0);
  for (int step = (most + 1) / 2; step > 0; step /= 2) {
    const Expr is_large = te::literal(power_of_two(step), x.dtype()) <= x;
    x = te::select(is_large, x * power_of_two(-step), x);
    shift = te::select(is_large, shift + step, shift);
  }
  return {std::move(x), std::move(shift)};
}

/// Code of a magnitude of float64, in int32.
Expr encoded_magnitude(const Expr& magnitude, const Minifloat& format, const MinifloatRounding& rounding) {
  const int most = (1 << format.exponent_bits) - 1;
  const Expr scaled = te::min(magnitude * power_of_two(format.bias - 1), power_of_two(most));
  const auto [y, shift] = normalized(scaled, most);
  const Expr places = te::cast(DataType::kInt32, te::unary(UnaryOp::kRound, y * power_of_two(format.mantissa_bits)));
  const Expr code = places + shift * (1 << format.mantissa_bits);
  // float4e2m1 has nothing beyond its largest number.
  const bool saturates = rounding.saturates || format.nan < 0;
  const int beyond = saturates ? format.largest : format.has_infinity ? format.largest + 1 : format.nan;
  return te::select(code_of(format.largest) < code, code_of(beyond), code);
}

/// The same of powers of two.
Expr encoded_exponent(const Expr& magnitude, const Minifloat& format, const MinifloatRounding& rounding) {
  const int most = (1 << format.exponent_bits) - 1;
  const Expr scaled = magnitude * power_of_two(format.bias);
  const auto [y, shift] = normalized(te::min(scaled, power_of_two(most)), most);
  Expr code = shift;
  if (rounding.mode == MinifloatRounding::Mode::kUp) code = te::select(1 < y, shift + 1, shift);
  if (rounding.mode == MinifloatRounding::Mode::kNearest) code = te::select(Number(1.5) <= y, shift + 1, shift);
  code = te::select(code_of(format.largest) < code, code_of(rounding.saturates ? format.largest : format.nan), code);
  return te::select(scaled < 1, code_of(rounding.saturates ? 0 : format.nan), code);
}

Expr is_negative(const Expr& x) { return x < 0 || (te::equal(x, 0) && 1 / x < 0); }

Expr encoded(const Expr& number, DataType to, const MinifloatRounding& rounding) {
  const Minifloat format = minifloat_of(to);
  const Expr x = te::cast(DataType::kFloat64, number), magnitude = te::abs(x);
  Expr code;
  if (format.is_signed) {
    code = encoded_magnitude(magnitude, format, rounding);
    const Expr negative = code + format.sign();
    if (format.has_negative_zero)
      code = te::select(is_negative(x), negative, code);
    else
      code = te::select(x < 0 && 0 < code && code < format.nan, negative, code);
  } else {
    code = encoded_exponent(magnitude, format, rounding);
  }
  if (format.nan >= 0) code = te::select(te::unary(UnaryOp::kIsNan, x), code_of(format.nan), code);
  return te::cast(to, code);
}

}  // namespace

Expr decoded(Expr stored) {
  const Minifloat format = minifloat_of(stored.dtype());
  const Expr code = te::cast(DataType::kInt32, std::move(stored));
  const Expr nan = te::literal(Number::nan(), DataType::kFloat32);
  if (!format.is_signed) return te::select(te::equal(code, format.nan), nan, decoded_exponent(code, format));
  const int leading = 1 << format.mantissa_bits;
  // In units of half the least subnormal: subnormals have twice their mantissa, others are shifted by their exponent.
  const Expr magnitude = bits_of(code, format.sign() - 1), mantissa = bits_of(code, leading - 1);
  const Expr exponent = te::binary(BinaryOp::kShiftRight, magnitude, code_of(format.mantissa_bits));
  const auto wide = [](Expr x) { return te::cast(DataType::kInt64, std::move(x)); };
  const Expr shifted = te::binary(BinaryOp::kShiftLeft, wide(mantissa + leading), wide(exponent));
  const Expr units = te::select(te::equal(exponent, 0), wide(mantissa * 2), shifted);
  Expr value = te::cast(DataType::kFloat32, units) * power_of_two(-format.bias - format.mantissa_bits);
  if (format.largest < format.sign() - 1) value = te::select(code_of(format.largest) < magnitude, nan, value);
  if (format.has_infinity)
    value = te::select(te::equal(magnitude, format.largest + 1), te::literal(Number::infinity(), DataType::kFloat32),
                       value);
  value = te::select(te::equal(bits_of(code, format.sign()), 0), value, -value);
  return format.nan == format.sign() ? te::select(te::equal(code, format.nan), nan, value) : value;
}

Expr cast_number(DataType to, Expr x, const MinifloatRounding& rounding) {
  if (x.dtype() == to) return x;
  if (is_minifloat(x.dtype())) x = decoded(std::move(x));
  return is_minifloat(to) ? encoded(x, to, rounding) : te::cast(to, std::move(x));
}

}  // namespace isomer::ops
