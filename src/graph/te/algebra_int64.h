// Reals that are integers: exact, and an error where a value is none or overflows. ±inf exist for minima and maxima.
#pragma once

#include <limits>

#include "graph/te/algebra.h"
#include "graph/te/exact_points.h"
#include "graph/te/integer.h"

namespace isomer::te {

struct Int64Algebra {
  using Value = int64_t;
  static constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();

  static bool is_infinite(int64_t x) { return x == kInfinity || x == kMinusInfinity; }
  static int64_t exact(__int128 value) {
    if (value >= kInfinity || value <= kMinusInfinity) fail_unsupported("a value beyond int64");
    return static_cast<int64_t>(value);
  }
  static __int128 finite(int64_t value) {
    if (is_infinite(value)) fail_unsupported("arithmetic on infinity in int64");
    return value;
  }

  int64_t from_number(const Number& number) const {
    if (number.kind() == Number::Kind::kInfinity) return number.is_negative() ? kMinusInfinity : kInfinity;
    if (!number.is_integer() || !(number == Number(number.to_int64())))
      fail_unsupported("{} is no int64", number.text());
    return exact(number.to_int64());
  }
  int64_t from_integer(DataType from, int64_t value, DataType) const { return exact(unwrap(from, value)); }
  int64_t to_integer(int64_t value, DataType to) const { return wrap(to, finite(value)); }
  int64_t rounded(int64_t value, DataType) const { return value; }

  int64_t apply(UnaryOp op, int64_t x) const {
    if (op == UnaryOp::kFloor || op == UnaryOp::kCeil || op == UnaryOp::kRound) return x;
    if (op == UnaryOp::kAbs && x >= 0) return x;
    if (op == UnaryOp::kNeg || op == UnaryOp::kAbs) return is_infinite(x) ? ~x : -x;
    if (const auto value = exact_point(op, x)) return *value;
    fail_unsupported("a function of {} that is no integer", x);
  }

  int64_t apply(BinaryOp op, int64_t left, int64_t right) const {
    if (op == BinaryOp::kMin) return std::min(left, right);
    if (op == BinaryOp::kMax) return std::max(left, right);
    const __int128 a = finite(left), b = finite(right);
    const bool divides =
        op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod || op == BinaryOp::kTruncMod;
    if (divides && b == 0) fail_unsupported("{} / 0 is no integer", left);
    switch (op) {
      case BinaryOp::kAdd: return exact(a + b);
      case BinaryOp::kSub: return exact(a - b);
      case BinaryOp::kMul: return exact(a * b);
      case BinaryOp::kDiv:
        if (a % b != 0) fail_unsupported("{} / {} is no integer", left, right);
        return exact(a / b);
      case BinaryOp::kFloorDiv: return floor_div(left, right);
      case BinaryOp::kFloorMod: return floor_mod(left, right);
      case BinaryOp::kTruncMod: return right == -1 ? 0 : left % right;
      case BinaryOp::kPow: return power(left, right);
      case BinaryOp::kMin:
      case BinaryOp::kMax:
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

  bool compare(BinaryOp op, int64_t a, int64_t b) const {
    return op == BinaryOp::kEqual ? a == b : op == BinaryOp::kLess ? a < b : a <= b;
  }
  bool is_nan(int64_t) const { return false; }

 private:
  static int64_t power(int64_t base, int64_t exponent) {
    if (base == 1 || exponent == 0) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    if (exponent < 0) fail_unsupported("{} to the power {} is no integer", base, exponent);
    if (base == 0) return 0;
    int64_t result = 1;
    for (int64_t i = 0; i < exponent; ++i) result = exact(static_cast<__int128>(result) * base);
    return result;
  }
};

}  // namespace isomer::te
