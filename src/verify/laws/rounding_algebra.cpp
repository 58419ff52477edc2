#include "verify/laws/rounding_algebra.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "graph/te/algebra_floating.h"

namespace isomer::verify {
namespace {

using te::BinaryOp;
using te::fail_unsupported;
using te::UnaryOp;

constexpr double kUnit = 0x1.0002p-24;  ///< of float32, with what the doubles of the ends round
constexpr double kLeast = 0x1p-149;     ///< denormals are that far apart
constexpr double kLargest = std::numeric_limits<float>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kFunctionUnits = 4;

bool is_representable(double value) { return value == static_cast<double>(static_cast<float>(value)); }

/// An end that may have been rounded so many times, outwards. What is beyond the largest float may be infinite.
double moved(double end, int units, double direction) {
  if (std::isinf(end)) return end;
  const double result = end + direction * units * (kUnit * std::abs(end) + kLeast);
  return std::abs(result) > kLargest && direction * result > 0 ? direction * kInfinity : result;
}
Interval widened(double low, double high, int units = 1) { return {moved(low, units, -1), moved(high, units, 1)}; }

/// Of a function that grows.
template <class F>
Interval growing(const Interval& x, const F& f) {
  return widened(f(x.low), f(x.high), kFunctionUnits);
}

/// Of one that moves by no more than its argument does, between -1 and 1.
template <class F>
Interval wave(const Interval& x, const F& f) {
  const double middle = f(x.low), reach = x.high - x.low;
  const Interval result = widened(std::max(-1.0, middle - reach), std::min(1.0, middle + reach), kFunctionUnits);
  return std::isnan(result.low) ? Interval{-1, 1} : result;
}

Interval absolute(const Interval& x) {
  if (x.low >= 0) return x;
  return x.high <= 0 ? Interval{-x.high, -x.low} : Interval{0, std::max(-x.low, x.high)};
}

/// Both summands are floats, and so is their sum: nothing was rounded.
bool is_exact_sum(double a, double b, double sum) {
  const double part = sum - a;
  return is_representable(sum) && (a - (sum - part)) + (b - part) == 0;
}

Interval sum(const Interval& a, const Interval& b) {
  const double low = a.low + b.low, high = a.high + b.high;
  if (std::isnan(low) || std::isnan(high)) return {-kInfinity, kInfinity};
  return a.is_point() && b.is_point() && is_exact_sum(a.low, b.low, low) ? Interval{low, low} : widened(low, high);
}

/// Of an operation that is monotone in each operand.
template <class F>
Interval corners(const Interval& a, const Interval& b, const F& f, int units = 1) {
  const std::array<double, 4> values = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    return {-kInfinity, kInfinity};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return widened(*low, *high, units);
}

/// Products of floats are exact in double precision.
Interval product(const Interval& a, const Interval& b) {
  const double value = a.low * b.low;
  return a.is_point() && b.is_point() && is_representable(value) ? Interval{value, value}
                                                                 : corners(a, b, std::multiplies<>());
}

}  // namespace

Interval RoundingAlgebra::from_number(const te::Number& number) const {
  const double value = number.to_double();
  return is_representable(value) ? Interval{value, value} : widened(value, value);
}

Interval RoundingAlgebra::from_integer(DataType from, int64_t value, DataType to) const {
  const double real = te::DoubleAlgebra().from_integer(from, value, DataType::kFloat64);
  return to == DataType::kFloat64 || is_representable(real) ? Interval{real, real} : widened(real, real);
}

int64_t RoundingAlgebra::to_integer(const Interval& value, DataType to) const {
  if (std::trunc(value.low) != std::trunc(value.high)) fail_unsupported("an integer that rounding decides");
  return te::DoubleAlgebra().to_integer(value.low, to);
}

Interval RoundingAlgebra::rounded(const Interval& value, DataType dtype) const {
  if (dtype != DataType::kFloat32 && dtype != DataType::kFloat64) fail_unsupported("rounding to {}", name(dtype));
  return value;
}

Interval RoundingAlgebra::apply(UnaryOp op, const Interval& x) const {
  const te::DoubleAlgebra doubles;
  const auto f = [&](double argument) { return doubles.apply(op, argument); };
  switch (op) {
    case UnaryOp::kNeg: return {-x.high, -x.low};
    case UnaryOp::kAbs: return absolute(x);
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound: return {f(x.low), f(x.high)};
    case UnaryOp::kSqrt:
    case UnaryOp::kLog: return growing({std::max(x.low, 0.0), std::max(x.high, 0.0)}, f);
    case UnaryOp::kExp:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kTanh:
    case UnaryOp::kAsinh:
    case UnaryOp::kErf: return growing(x, f);
    case UnaryOp::kAsin:
    case UnaryOp::kAtanh: return growing({std::max(x.low, -1.0), std::min(x.high, 1.0)}, f);
    case UnaryOp::kAcos: return growing({std::min(x.high, 1.0), std::max(x.low, -1.0)}, f);
    case UnaryOp::kAcosh: return growing({std::max(x.low, 1.0), std::max(x.high, 1.0)}, f);
    case UnaryOp::kCosh: return growing(absolute(x), f);
    case UnaryOp::kSin:
    case UnaryOp::kCos: return wave(x, f);
    case UnaryOp::kTan:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan: break;
  }
  fail_unsupported("no bound for what rounding does to this function");
}

Interval RoundingAlgebra::apply(BinaryOp op, const Interval& a, const Interval& b) const {
  switch (op) {
    case BinaryOp::kAdd: return sum(a, b);
    case BinaryOp::kSub: return sum(a, {-b.high, -b.low});
    case BinaryOp::kMul: return product(a, b);
    case BinaryOp::kDiv:
      if (b.low <= 0 && b.high >= 0) fail_unsupported("a division by what may be zero");
      return corners(a, b, std::divides<>());
    case BinaryOp::kPow:
      if (!(a.low > 0)) fail_unsupported("a power of what may not be positive");
      return corners(a, b, [](double base, double exponent) { return std::pow(base, exponent); }, kFunctionUnits);
    case BinaryOp::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case BinaryOp::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: break;
  }
  fail_unsupported("no bound for what rounding does to this operation");
}

bool RoundingAlgebra::compare(BinaryOp op, const Interval& a, const Interval& b) const {
  const bool is_apart = a.high < b.low || b.high < a.low;
  if (!is_apart && !(a.is_point() && b.is_point())) fail_unsupported("a comparison that rounding decides");
  return te::DoubleAlgebra().compare(op, a.low, b.low);
}

}  // namespace isomer::verify
