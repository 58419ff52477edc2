#include "graph/te/rational.h"

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <limits>
#include <numeric>

#include "graph/te/integer.h"
#include "util/check.h"

namespace isomer::te {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Fraction = boost::multiprecision::cpp_rational;

constexpr unsigned kMaxPowerBits = 1 << 16;

Integer floor_of(const Fraction& x) {
  Integer quotient, remainder;
  divide_qr(numerator(x), denominator(x), quotient, remainder);
  return remainder < 0 ? Integer(quotient - 1) : quotient;
}

Integer round_of(const Fraction& x) {
  const Integer below = floor_of(x);
  const Fraction rest = x - below;
  const Fraction half(1, 2);
  const bool up = rest > half || (rest == half && bit_test(Integer(abs(below)), 0));
  return up ? Integer(below + 1) : below;
}

Fraction power_of_two(int exponent) {
  const Integer power = Integer(1) << std::abs(exponent);
  return exponent >= 0 ? Fraction(power) : Fraction(Integer(1), power);
}

/// floor(log2 |x|), x != 0
int binary_exponent(const Fraction& x) {
  const Integer over = abs(numerator(x)), under = denominator(x);
  const int guess = static_cast<int>(msb(over)) - static_cast<int>(msb(under));
  return Fraction(abs(x)) < power_of_two(guess) ? guess - 1 : guess;
}

struct FloatFormat {
  int digits, least_exponent, greatest_exponent;
};
std::optional<FloatFormat> format_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return FloatFormat{11, -14, 15};
    case DataType::kBFloat16: return FloatFormat{8, -126, 127};
    case DataType::kFloat32: return FloatFormat{24, -126, 127};
    case DataType::kFloat64: return FloatFormat{53, -1022, 1023};
    default: return std::nullopt;
  }
}

std::optional<Integer> exact_root(const Integer& x) {
  const Integer root = boost::multiprecision::sqrt(x);
  return root * root == x ? std::optional(root) : std::nullopt;
}

}  // namespace

struct Rational::Big {
  Fraction value;
};

namespace {

/// Its negative is one, too.
bool is_small(__int128 value) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return -kMost <= value && value <= kMost;
}

}  // namespace

Rational::Rational(Big value) {
  const Integer &over = numerator(value.value), &under = denominator(value.value);
  if (abs(over) <= std::numeric_limits<int64_t>::max() && under <= std::numeric_limits<int64_t>::max()) {
    numerator_ = static_cast<int64_t>(over);
    denominator_ = static_cast<int64_t>(under);
  } else {
    big_ = std::make_shared<const Big>(std::move(value));
  }
}

Rational Rational::of_terms(__int128 numerator, __int128 denominator) {
  if (!isomer::te::is_small(numerator) || !isomer::te::is_small(denominator))
    return Rational(Big{Fraction(Integer(numerator), Integer(denominator))});
  Rational result;
  result.numerator_ = static_cast<int64_t>(numerator);
  result.denominator_ = static_cast<int64_t>(denominator);
  return result;
}

Rational::Big Rational::big() const {
  CHECK(is_finite());
  return big_ ? *big_ : Big{Fraction(Integer(numerator_), Integer(denominator_))};
}

Rational::Rational(const Number& number) {
  switch (number.kind()) {
    case Number::Kind::kNan: kind_ = Kind::kNan; return;
    case Number::Kind::kInfinity: kind_ = number.is_negative() ? Kind::kMinusInfinity : Kind::kPlusInfinity; return;
    case Number::Kind::kFinite: break;
  }
  *this = Rational(
      Big{Fraction(Integer(number.numerator()), Integer(number.denominator())) * power_of_two(number.exponent())});
}
Rational::Rational(__int128 integer) : Rational(of_terms(integer, 1)) {}
Rational Rational::infinity(bool negative) { return Rational(negative ? Kind::kMinusInfinity : Kind::kPlusInfinity); }
Rational Rational::nan() { return Rational(Kind::kNan); }

int Rational::sign() const {
  switch (kind_) {
    case Kind::kFinite: return big_ ? big_->value.sign() : (numerator_ > 0) - (numerator_ < 0);
    case Kind::kPlusInfinity: return 1;
    case Kind::kMinusInfinity: return -1;
    case Kind::kNan: return 0;
  }
  return 0;
}

bool Rational::is_integer() const { return is_finite() && (big_ ? denominator(big_->value) == 1 : denominator_ == 1); }

int64_t Rational::truncated_to_int64() const {
  if (!is_finite()) return 0;
  if (is_small()) return numerator_ / denominator_;
  const Integer quotient = numerator(big_->value) / denominator(big_->value);
  const Integer low = abs(quotient) & Integer(std::numeric_limits<uint64_t>::max());
  const auto bits = static_cast<uint64_t>(low);
  return static_cast<int64_t>(quotient < 0 ? -bits : bits);
}

double Rational::to_double() const {
  if (kind_ == Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
  const Rational nearest = rounded(DataType::kFloat64);
  if (!nearest.is_finite()) return sign() * std::numeric_limits<double>::infinity();
  return static_cast<double>(nearest.big().value);
}

std::string Rational::text() const {
  switch (kind_) {
    case Kind::kFinite: return big().value.str();
    case Kind::kPlusInfinity: return "inf";
    case Kind::kMinusInfinity: return "-inf";
    case Kind::kNan: return "nan";
  }
  return {};
}

Rational operator-(const Rational& a) {
  if (a.is_nan()) return a;
  if (!a.is_finite()) return Rational::infinity(a.sign() > 0);
  if (a.is_small()) return Rational::of_terms(-a.numerator_, a.denominator_);
  return Rational(Rational::Big{-a.big().value});
}

// Of small ones: Knuth, The Art of Computer Programming, volume 2, 4.5.1.
Rational operator+(const Rational& a, const Rational& b) {
  if (a.is_small() && b.is_small()) {
    const int64_t common = std::gcd(a.denominator_, b.denominator_);
    const __int128 sum = static_cast<__int128>(a.numerator_) * (b.denominator_ / common) +
                         static_cast<__int128>(b.numerator_) * (a.denominator_ / common);
    const int64_t again = common == 1 ? 1 : std::gcd(static_cast<int64_t>(sum % common), common);
    return Rational::of_terms(sum / again, static_cast<__int128>(a.denominator_ / common) * (b.denominator_ / again));
  }
  if (a.is_finite() && b.is_finite()) return Rational(Rational::Big{a.big().value + b.big().value});
  if (a.is_finite() || b.is_nan()) return b;
  return b.is_finite() || a.is_nan() || a.sign() == b.sign() ? a : Rational::nan();
}
Rational operator-(const Rational& a, const Rational& b) { return a + -b; }

Rational operator*(const Rational& a, const Rational& b) {
  if (a.is_small() && b.is_small()) {
    const int64_t one = std::gcd(a.numerator_, b.denominator_), other = std::gcd(b.numerator_, a.denominator_);
    return Rational::of_terms(static_cast<__int128>(a.numerator_ / one) * (b.numerator_ / other),
                              static_cast<__int128>(a.denominator_ / other) * (b.denominator_ / one));
  }
  if (a.is_finite() && b.is_finite()) return Rational(Rational::Big{a.big().value * b.big().value});
  const int sign = a.sign() * b.sign();
  return sign == 0 ? Rational::nan() : Rational::infinity(sign < 0);
}

Rational operator/(const Rational& a, const Rational& b) {
  if (a.is_nan() || b.is_nan()) return Rational::nan();
  if (!b.is_finite()) return a.is_finite() ? Rational() : Rational::nan();
  if (!a.is_finite()) return Rational::infinity((a.sign() < 0) != (b.sign() < 0));
  if (b.sign() == 0) return a.sign() == 0 ? Rational::nan() : Rational::infinity(a.sign() < 0);
  if (b.is_small()) {
    const bool negative = b.numerator_ < 0;
    return a * Rational::of_terms(negative ? -b.denominator_ : b.denominator_, negative ? -b.numerator_ : b.numerator_);
  }
  return Rational(Rational::Big{a.big().value / b.big().value});
}

bool operator==(const Rational& a, const Rational& b) {
  if (a.is_nan() || b.is_nan() || a.kind_ != b.kind_) return false;
  if (!a.big_ || !b.big_) return !a.big_ && !b.big_ && a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
  return a.big_->value == b.big_->value;
}

bool operator<(const Rational& a, const Rational& b) {
  if (a.is_nan() || b.is_nan()) return false;
  if (a.is_small() && b.is_small())
    return static_cast<__int128>(a.numerator_) * b.denominator_ < static_cast<__int128>(b.numerator_) * a.denominator_;
  if (a.is_finite() && b.is_finite()) return a.big().value < b.big().value;
  return a.is_finite() ? b.sign() > 0 : a.sign() < 0 && !(b.sign() < 0 && !b.is_finite());
}

Rational Rational::floor() const {
  if (is_small()) return of_terms(floor_div(numerator_, denominator_), 1);
  return is_finite() ? Rational(Big{Fraction(floor_of(big_->value))}) : *this;
}
Rational Rational::round() const {
  if (is_small() && denominator_ == 1) return *this;
  return is_finite() ? Rational(Big{Fraction(round_of(big().value))}) : *this;
}

Rational Rational::rounded(DataType dtype) const {
  const auto format = format_of(dtype);
  if (!format || !is_finite() || sign() == 0) return *this;
  // What is a value of the type already, mostly: so many digits, and no small exponent.
  constexpr int64_t kGreatestDenominator = 1 << 10;
  if (is_small() && std::abs(numerator_) < int64_t{1} << format->digits && denominator_ <= kGreatestDenominator &&
      std::has_single_bit(static_cast<uint64_t>(denominator_)))
    return *this;
  const Fraction x = big().value;
  const int exponent = std::max(binary_exponent(x), format->least_exponent);
  const Fraction unit = power_of_two(exponent - format->digits + 1);
  const Fraction nearest = round_of(x / unit) * unit;
  if (abs(nearest) >= power_of_two(format->greatest_exponent + 1)) return infinity(sign() < 0);
  return Rational(Big{nearest});
}

std::optional<Rational> Rational::sqrt() const {
  if (is_nan() || sign() < 0) return nan();
  if (!is_finite()) return *this;
  const Fraction value = big().value;
  const auto over = exact_root(numerator(value)), under = exact_root(denominator(value));
  if (!over || !under) return std::nullopt;
  return Rational(Big{Fraction(*over, *under)});
}

std::optional<Rational> Rational::power(const Rational& exponent) const {
  if (exponent.sign() == 0 && !exponent.is_nan()) return Rational(__int128{1});
  if (is_nan() || exponent.is_nan()) return nan();
  if (!is_finite() || !exponent.is_finite()) return std::nullopt;
  if (exponent == Rational(Number::fraction(1, 2))) return sqrt();
  if (!exponent.is_integer()) return std::nullopt;
  if (sign() == 0) return exponent.sign() > 0 ? *this : infinity(false);
  const Fraction base = big().value;
  const Integer count = abs(Integer(numerator(exponent.big().value)));
  const Integer size = std::max(msb(Integer(abs(numerator(base)))), msb(Integer(denominator(base)))) + Integer(1);
  const bool is_unit = abs(base) == 1;
  if (!is_unit && count * size > kMaxPowerBits) return std::nullopt;
  const auto times = is_unit ? static_cast<unsigned>(count % 2) : static_cast<unsigned>(count);
  const Fraction result(Integer(pow(Integer(numerator(base)), times)), Integer(pow(Integer(denominator(base)), times)));
  return Rational(Big{exponent.sign() > 0 ? result : Fraction(1 / result)});
}

}  // namespace isomer::te
