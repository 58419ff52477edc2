// What the scalar operations of tensor expressions do to doubles and to integers held in int64: one definition for the
// scalar machine and for the kernels over strips. Integer results are modulo 2^64; `wrap` brings them into a type's
// range. Nothing here is undefined: division by zero gives 0 and is reported by those who check for it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "graph/te/expr.h"

namespace isomer::te::interpreter {

/// Half to even, without the library call that baseline x86 needs.
inline double round_even(double x) {
  constexpr double kUnit = 0x1p52;
  const double magnitude = std::fabs(x);
  const double rounded = std::copysign((magnitude + kUnit) - kUnit, x);
  return magnitude < kUnit ? rounded : x;
}
inline double floor_real(double x) {
  const double rounded = round_even(x);
  return rounded > x ? rounded - 1.0 : rounded;
}
inline double ceil_real(double x) {
  const double rounded = round_even(x);
  return std::copysign(rounded < x ? rounded + 1.0 : rounded, x);
}

[[gnu::always_inline]] inline double apply(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg: return -x;
    case UnaryOp::kAbs: return std::fabs(x);
    case UnaryOp::kFloor: return floor_real(x);
    case UnaryOp::kCeil: return ceil_real(x);
    case UnaryOp::kRound: return round_even(x);
    case UnaryOp::kSqrt: return std::sqrt(x);
    case UnaryOp::kExp: return std::exp(x);
    case UnaryOp::kLog: return std::log(x);
    case UnaryOp::kSin: return std::sin(x);
    case UnaryOp::kCos: return std::cos(x);
    case UnaryOp::kTan: return std::tan(x);
    case UnaryOp::kAsin: return std::asin(x);
    case UnaryOp::kAcos: return std::acos(x);
    case UnaryOp::kAtan: return std::atan(x);
    case UnaryOp::kSinh: return std::sinh(x);
    case UnaryOp::kCosh: return std::cosh(x);
    case UnaryOp::kTanh: return std::tanh(x);
    case UnaryOp::kAsinh: return std::asinh(x);
    case UnaryOp::kAcosh: return std::acosh(x);
    case UnaryOp::kAtanh: return std::atanh(x);
    case UnaryOp::kErf: return std::erf(x);
    case UnaryOp::kNot: return x == 0;
    case UnaryOp::kIsNan: return x != x;
  }
  return x;
}

inline double floor_mod_real(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/// Comparisons are not here: `compare`.
[[gnu::always_inline]] inline double apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kFloorDiv: return floor_real(a / b);
    case BinaryOp::kFloorMod: return floor_mod_real(a, b);
    case BinaryOp::kTruncMod: return std::fmod(a, b);
    case BinaryOp::kPow: return std::pow(a, b);
    case BinaryOp::kMin: return ((a < b) | (a != a)) ? a : b;
    case BinaryOp::kMax: return ((b < a) | (a != a)) ? a : b;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <class T>
[[gnu::always_inline]] inline bool compare(BinaryOp op, T a, T b) {
  return op == BinaryOp::kEqual ? a == b : op == BinaryOp::kLess ? a < b : a <= b;
}

/// The facts of an integer or bool type that its arithmetic depends on.
struct IntegerType {
  int bits = 64;
  bool is_signed = true;
  bool is_bool = false;
  explicit IntegerType(DataType dtype)
      : bits(value_bits(dtype)), is_signed(is_signed_int(dtype)), is_bool(dtype == DataType::kBool) {}
  bool is_unsigned64() const { return bits == 64 && !is_signed; }
  bool operator==(const IntegerType&) const = default;
};

/// The value modulo 2^bits, in the type's range; for bool: value != 0.
inline int64_t wrap(int64_t value, IntegerType type) {
  if (type.is_bool) return value != 0;
  const int shift = 64 - type.bits;
  const uint64_t high = static_cast<uint64_t>(value) << shift;
  return type.is_signed ? static_cast<int64_t>(high) >> shift : static_cast<int64_t>(high >> shift);
}

namespace wrapping {
inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
}  // namespace wrapping

inline int64_t divide(int64_t a, int64_t b, bool unsigned64) {
  if (b == 0) return 0;
  if (unsigned64) return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? wrapping::sub(0, a) : a / b;
}
inline int64_t remainder(int64_t a, int64_t b, bool unsigned64) {
  if (b == 0) return 0;
  if (unsigned64) return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
}
inline int64_t floor_remainder(int64_t a, int64_t b, bool unsigned64) {
  const int64_t r = remainder(a, b, unsigned64);
  return !unsigned64 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
inline int64_t floor_divide(int64_t a, int64_t b, bool unsigned64) {
  const int64_t q = divide(a, b, unsigned64);
  const bool below = !unsigned64 && b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0);
  return q - below;
}
/// Of negative powers only those of 1 and -1 are not 0.
inline int64_t power(int64_t base, int64_t exponent, bool unsigned64) {
  if (!unsigned64 && exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest >>= 1) {
    if (rest & 1) result = wrapping::mul(result, base);
    base = wrapping::mul(base, base);
  }
  return result;
}
/// Counts beyond the width shift everything out.
inline int64_t shift_left(int64_t a, int64_t count) {
  return count >= 0 && count < 64 ? static_cast<int64_t>(static_cast<uint64_t>(a) << count) : 0;
}
inline int64_t shift_right(int64_t a, int64_t count, bool unsigned64) {
  const int64_t amount = count >= 0 && count < 64 ? count : 63;
  if (!unsigned64) return a >> amount;
  return amount == count ? static_cast<int64_t>(static_cast<uint64_t>(a) >> amount) : 0;
}

[[gnu::always_inline]] inline int64_t apply(UnaryOp op, int64_t a, bool is_bool) {
  switch (op) {
    case UnaryOp::kNeg: return wrapping::sub(0, a);
    case UnaryOp::kAbs: return a < 0 ? wrapping::sub(0, a) : a;
    case UnaryOp::kNot: return is_bool ? a ^ 1 : ~a;
    case UnaryOp::kIsNan: return 0;
    default: return a;  // floor, ceil and round of an integer
  }
}

[[gnu::always_inline]] inline int64_t apply(BinaryOp op, int64_t a, int64_t b, bool unsigned64) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd: return wrapping::add(a, b);
    case BinaryOp::kSub: return wrapping::sub(a, b);
    case BinaryOp::kMul: return wrapping::mul(a, b);
    case BinaryOp::kDiv: return divide(a, b, unsigned64);
    case BinaryOp::kFloorDiv: return floor_divide(a, b, unsigned64);
    case BinaryOp::kFloorMod: return floor_remainder(a, b, unsigned64);
    case BinaryOp::kTruncMod: return remainder(a, b, unsigned64);
    case BinaryOp::kPow: return power(a, b, unsigned64);
    case BinaryOp::kMin: return (unsigned64 ? ua < ub : a < b) ? a : b;
    case BinaryOp::kMax: return (unsigned64 ? ub < ua : b < a) ? a : b;
    case BinaryOp::kAnd: return a & b;
    case BinaryOp::kOr: return a | b;
    case BinaryOp::kXor: return a ^ b;
    case BinaryOp::kShiftLeft: return shift_left(a, b);
    case BinaryOp::kShiftRight: return shift_right(a, b, unsigned64);
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: return unsigned64 ? compare(op, ua, ub) : compare(op, a, b);
  }
  return 0;
}

/// True for operations whose result modulo 2^k depends on the operands modulo 2^k only.
constexpr bool is_ring_operation(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul;
}
constexpr bool is_integer_division(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod || op == BinaryOp::kTruncMod;
}

/// Nearest even value with `mantissa` explicit bits and exponents low…high; infinity beyond.
template <int mantissa, int low, int high>
double round_narrow(double x) {
  const double magnitude = std::fabs(x);
  const double limit = std::ldexp(1.0, high + 1);
  if (!(magnitude < limit)) return x != x ? x : std::copysign(std::numeric_limits<double>::infinity(), x);
  if (magnitude < std::ldexp(1.0, low)) {
    const double unit = std::ldexp(1.5, low - mantissa + 52);  // its last place is the least subnormal
    return std::copysign((magnitude + unit) - unit, x);
  }
  constexpr int kShift = 52 - mantissa;
  auto bits = std::bit_cast<uint64_t>(magnitude);
  bits += ((bits >> kShift) & 1) + ((uint64_t{1} << (kShift - 1)) - 1);
  bits &= ~((uint64_t{1} << kShift) - 1);
  const auto rounded = std::bit_cast<double>(bits);
  return std::copysign(rounded < limit ? rounded : std::numeric_limits<double>::infinity(), x);
}
inline double round_real(DataType dtype, double x) {
  switch (dtype) {
    case DataType::kFloat32: return static_cast<float>(x);
    case DataType::kFloat16: return round_narrow<10, -14, 15>(x);
    case DataType::kBFloat16: return round_narrow<7, -126, 127>(x);
    default: return x;
  }
}

/// As x86 converts, and ONNX Runtime and numpy there: through int32 for what is at most 32 bits wide (uint32: int64),
/// where NaN and what is out of range become the least value.
inline int64_t real_to_integer(double x, IntegerType to) {
  if (to.is_bool) return x != 0;
  const bool narrow = to.bits < 32 || (to.bits == 32 && to.is_signed);
  if (narrow)
    return wrap(x > -0x1p31 - 1 && x < 0x1p31 ? static_cast<int64_t>(x) : std::numeric_limits<int32_t>::min(), to);
  if (to.is_unsigned64() && x >= 0x1p63) {
    const double rest = x - 0x1p63;
    return rest < 0x1p63 ? static_cast<int64_t>(rest) ^ std::numeric_limits<int64_t>::min() : 0;
  }
  return wrap(x >= -0x1p63 && x < 0x1p63 ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min(), to);
}

inline double integer_to_real(int64_t value, bool unsigned64, DataType to) {
  if (to == DataType::kFloat32)
    return unsigned64 ? static_cast<float>(static_cast<uint64_t>(value)) : static_cast<float>(value);
  return round_real(to, unsigned64 ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value));
}

/// Halves of either encoding, exactly.
inline double half_to_real(uint16_t bits) {
  // Shifted into a double's fields the value is 2^-1008 times what it should be, subnormals included.
  const uint64_t magnitude = static_cast<uint64_t>(bits & 0x7fff) << 42;
  const double finite = std::bit_cast<double>(magnitude) * 0x1p1008;
  const double special = std::bit_cast<double>(magnitude | 0x7ff0000000000000U);
  return std::copysign((bits & 0x7c00) == 0x7c00 ? special : finite, bits & 0x8000 ? -1.0 : 1.0);
}
inline double brain_to_real(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace isomer::te::interpreter
