#include "graph/ops/minifloat_casts.h"

#include <cmath>

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

/// A power of two by its exponent's code: a factor for each bit.
Expr decoded_exponent(const Expr& code, const Minifloat& format) {
  Expr value = te::literal(power_of_two(-format.bias), DataType::kFloat64);
  for (int bit = 0; bit < format.exponent_bits; ++bit)
    value = value * te::select(te::equal(bits_of(code, 1 << bit), 0), te::literal(1, DataType::kFloat64),
                               te::literal(power_of_two(1 << bit), DataType::kFloat64));
  return te::cast(DataType::kFloat32, value);
}

/// The magnitude is rounded to this code's number or a greater one. Between numbers the middle goes to the even code;
/// beyond the largest one, where the next one would be.
Expr reaches(const Expr& magnitude, int code, DataType dtype, const Minifloat& format, MinifloatRounding::Mode mode) {
  if (!format.is_signed) {
    const double power = std::ldexp(1.0, code - format.bias);
    switch (mode) {
      case MinifloatRounding::Mode::kUp: return te::literal(Number(power / 2), magnitude.dtype()) < magnitude;
      case MinifloatRounding::Mode::kDown: return te::literal(Number(power), magnitude.dtype()) <= magnitude;
      case MinifloatRounding::Mode::kNearest: return te::literal(Number(0.75 * power), magnitude.dtype()) <= magnitude;
    }
  }
  const double below = decode_minifloat(dtype, code - 1);
  const double step = code > format.largest ? below - decode_minifloat(dtype, code - 2) : 0;
  const double middle = step > 0 ? below + step / 2 : (below + decode_minifloat(dtype, code)) / 2;
  const Expr limit = te::literal(Number(middle), magnitude.dtype());
  return code % 2 == 0 ? limit <= magnitude : limit < magnitude;
}

/// Codes of magnitudes count the numbers that are reached.
Expr encoded_magnitude(const Expr& magnitude, DataType dtype, const MinifloatRounding& rounding) {
  const Minifloat format = minifloat_of(dtype);
  // What follows the largest number stands for all beyond; float4e2m1 has nothing there.
  const bool saturates = rounding.saturates || format.nan < 0;
  Expr code = code_of(0);
  for (int k = 1; k <= format.largest + (saturates ? 0 : 1); ++k)
    code = code + te::cast(DataType::kInt32, reaches(magnitude, k, dtype, format, rounding.mode));
  if (format.is_signed || saturates) return code;
  return te::select(magnitude < power_of_two(-format.bias), code_of(format.nan), code);
}

Expr is_negative(const Expr& x) { return x < 0 || (te::equal(x, 0) && 1 / x < 0); }

Expr encoded(Expr number, DataType to, const MinifloatRounding& rounding) {
  const Minifloat format = minifloat_of(to);
  // All limits are numbers of float32, and of float64 where integers or doubles are to be compared with them.
  const bool is_short = is_float(number.dtype()) && number.dtype() != DataType::kFloat64;
  const bool is_wide = !is_short || !format.is_signed;
  const Expr x = te::cast(is_wide ? DataType::kFloat64 : DataType::kFloat32, std::move(number));
  const Expr magnitude = te::abs(x);
  Expr code = encoded_magnitude(magnitude, to, rounding);
  if (format.is_signed && format.has_negative_zero) {
    code = code + te::select(is_negative(x), code_of(format.sign()), code_of(0));
  } else if (format.is_signed) {  // neither zero nor NaN has a sign
    Expr has_sign = x < 0 && reaches(magnitude, 1, to, format, rounding.mode);
    if (!rounding.saturates)
      has_sign = has_sign && te::logical_not(reaches(magnitude, format.largest + 1, to, format, rounding.mode));
    code = code + te::select(has_sign, code_of(format.sign()), code_of(0));
  }
  // Where there is no NaN its bits without a mantissa are left, -0: as in ONNX's data.
  code = te::select(te::unary(UnaryOp::kIsNan, x), code_of(format.nan >= 0 ? format.nan : format.sign()), code);
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
  // Wider integers truncate; what is beyond the range wraps in all of them.
  if (kSmallInts.contains(to) && is_float(x.dtype())) x = te::unary(UnaryOp::kRound, std::move(x));
  return is_minifloat(to) ? encoded(std::move(x), to, rounding) : te::cast(to, std::move(x));
}

}  // namespace isomer::ops
