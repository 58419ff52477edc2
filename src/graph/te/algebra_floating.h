// Floating point: double is the reference that results are judged by, float what kernels are near to.
#pragma once

#include <cmath>
#include <limits>

#include "graph/te/algebra.h"
#include "graph/tensor.h"

namespace isomer::te {

template <std::floating_point T>
struct FloatingAlgebra {
  using Value = T;

  T from_number(const Number& number) const { return static_cast<T>(number.to_double()); }

  /// Rounded once to float32; what is narrower goes through double.
  T from_integer(DataType from, int64_t value, DataType to) const {
    const bool is_unsigned = from == DataType::kUInt64;
    if (to == DataType::kFloat32)
      return is_unsigned ? static_cast<float>(static_cast<uint64_t>(value)) : static_cast<float>(value);
    return rounded(is_unsigned ? static_cast<T>(static_cast<uint64_t>(value)) : static_cast<T>(value), to);
  }

  /// NaN and values out of range are undefined in ONNX; here they are as x86 converts: through int32 where that holds
  /// the type, else through int64, and the least value of that one for all that does not fit.
  int64_t to_integer(T value, DataType to) const {
    const T truncated = std::trunc(value);
    const auto within = [&](double low, double high) { return truncated >= low && truncated < high; };
    if (bit_width(to) < 32 || to == DataType::kInt32)
      return wrap(to, within(-0x1p31, 0x1p31) ? static_cast<int64_t>(truncated) : std::numeric_limits<int32_t>::min());
    if (to == DataType::kUInt64 && truncated >= T(0x1p63))
      return within(0x1p63, 0x1p64) ? static_cast<int64_t>(static_cast<uint64_t>(truncated)) : 0;
    return wrap(to, within(-0x1p63, 0x1p63) ? static_cast<int64_t>(truncated) : std::numeric_limits<int64_t>::min());
  }

  T rounded(T value, DataType dtype) const { return static_cast<T>(round_to(dtype, value)); }

  T apply(UnaryOp op, T x) const {
    switch (op) {
      case UnaryOp::kNeg: return -x;
      case UnaryOp::kAbs: return std::fabs(x);
      case UnaryOp::kFloor: return std::floor(x);
      case UnaryOp::kCeil: return std::ceil(x);
      case UnaryOp::kRound: return std::nearbyint(x);
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
      case UnaryOp::kNot:
      case UnaryOp::kIsNan: break;
    }
    fail_unsupported("'not' of a real number has no meaning");
  }

  T apply(BinaryOp op, T a, T b) const {
    switch (op) {
      case BinaryOp::kAdd: return a + b;
      case BinaryOp::kSub: return a - b;
      case BinaryOp::kMul: return a * b;
      case BinaryOp::kDiv: return a / b;
      case BinaryOp::kFloorDiv: return std::floor(a / b);
      case BinaryOp::kFloorMod: {
        const T remainder = std::fmod(a, b);
        if (remainder == 0) return std::copysign(T(0), b);
        return (remainder < 0) != (b < 0) ? remainder + b : remainder;
      }
      case BinaryOp::kTruncMod: return std::fmod(a, b);
      case BinaryOp::kPow: return std::pow(a, b);
      case BinaryOp::kMin: return std::isnan(a) || a < b ? a : b;
      case BinaryOp::kMax: return std::isnan(a) || b < a ? a : b;
      case BinaryOp::kAnd:
      case BinaryOp::kOr:
      case BinaryOp::kXor:
      case BinaryOp::kShiftLeft:
      case BinaryOp::kShiftRight:
      case BinaryOp::kEqual:
      case BinaryOp::kLess:
      case BinaryOp::kLessEqual: break;
    }
    fail_unsupported("a bitwise operation on real numbers has no meaning");
  }

  bool compare(BinaryOp op, T a, T b) const {
    return op == BinaryOp::kEqual ? a == b : op == BinaryOp::kLess ? a < b : a <= b;
  }
  bool is_nan(T value) const { return std::isnan(value); }
};

using DoubleAlgebra = FloatingAlgebra<double>;
using FloatAlgebra = FloatingAlgebra<float>;

}  // namespace isomer::te
