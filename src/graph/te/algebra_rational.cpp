#include "graph/te/algebra_rational.h"

#include "graph/te/exact_points.h"

namespace isomer::te {
namespace {

/// Where functions of ±inf are rational or infinite.
std::optional<Rational> at_infinity(UnaryOp op, bool negative) {
  Rational one = Rational(__int128{negative ? -1 : 1}), same = Rational::infinity(negative);
  switch (op) {
    case UnaryOp::kExp: return negative ? Rational() : same;
    case UnaryOp::kLog:
    case UnaryOp::kSqrt:
    case UnaryOp::kAcosh: return negative ? Rational::nan() : same;
    case UnaryOp::kTanh:
    case UnaryOp::kErf: return one;
    case UnaryOp::kSinh:
    case UnaryOp::kAsinh: return same;
    case UnaryOp::kCosh: return Rational::infinity(false);
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kAsin:
    case UnaryOp::kAcos:
    case UnaryOp::kAtanh: return Rational::nan();
    case UnaryOp::kAtan:
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Rational RationalAlgebra::apply(UnaryOp op, const Rational& x) const {
  if (x.is_nan()) return x;
  if (op == UnaryOp::kNeg) return -x;
  if (op == UnaryOp::kAbs) return x.sign() < 0 ? -x : x;
  if (op == UnaryOp::kFloor) return x.floor();
  if (op == UnaryOp::kCeil) return -(-x).floor();
  if (op == UnaryOp::kRound) return x.round();
  if (!x.is_finite()) {
    if (const auto limit = at_infinity(op, x.sign() < 0)) return *limit;
  } else if (op == UnaryOp::kSqrt) {
    if (const auto root = x.sqrt()) return *root;
  } else if (op == UnaryOp::kLog && x.sign() <= 0) {
    return x.sign() == 0 ? Rational::infinity(true) : Rational::nan();
  } else if (x.is_integer() && (x.sign() == 0 || x == Rational(__int128{1}))) {
    if (const auto value = exact_point(op, x.sign())) return Rational(__int128{*value});
  }
  fail_unsupported("a function of {} that is not rational", x.text());
}

Rational RationalAlgebra::apply(BinaryOp op, const Rational& a, const Rational& b) const {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kFloorDiv: return (a / b).floor();
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod: {
      if (!a.is_finite() || b.is_nan() || b.sign() == 0) return Rational::nan();
      const bool opposite = a.sign() * b.sign() < 0;
      if (!b.is_finite()) return op == BinaryOp::kFloorMod && opposite ? b : a;
      const Rational quotient = a / b;
      const bool down = op == BinaryOp::kFloorMod || !opposite;
      return a - (down ? quotient.floor() : -(-quotient).floor()) * b;
    }
    case BinaryOp::kPow:
      if (const auto power = a.power(b)) return *power;
      fail_unsupported("{} to the power {} is not rational or too large", a.text(), b.text());
    case BinaryOp::kMin: return a.is_nan() || a < b ? a : b;
    case BinaryOp::kMax: return a.is_nan() || b < a ? a : b;
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

}  // namespace isomer::te
