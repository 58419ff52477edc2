// Exact rationals with ±inf and NaN, of any size. The door to Boost.Multiprecision: nobody else includes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "graph/te/dtype.h"
#include "graph/te/number.h"

namespace isomer::te {

class Rational {
 public:
  Rational() = default;  ///< 0
  explicit Rational(const Number& number);
  explicit Rational(__int128 integer);
  static Rational infinity(bool negative);
  static Rational nan();

  bool is_nan() const { return kind_ == Kind::kNan; }
  bool is_finite() const { return kind_ == Kind::kFinite; }
  /// -1, 0 or 1; of NaN 0.
  int sign() const;
  bool is_integer() const;
  /// Numerator and denominator have 64 bits.
  bool is_small() const { return is_finite() && !big_; }
  /// The integer modulo 2^64 as two's complement; of a fraction what truncation leaves, of infinities and NaN 0.
  int64_t truncated_to_int64() const;
  double to_double() const;
  /// "3", "-1/3", "inf", "-inf", "nan"
  std::string text() const;

  // IEEE's rules for infinities, as if there were no negative zero: 1/0 = inf, inf - inf = nan, 0 * inf = nan.
  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a);
  /// False where either is NaN.
  friend bool operator==(const Rational& a, const Rational& b);
  friend bool operator<(const Rational& a, const Rational& b);

  Rational floor() const;
  /// Half to even.
  Rational round() const;
  /// The nearest value of a float type, half to even; infinity beyond its range.
  Rational rounded(DataType dtype) const;
  /// Nothing where the result is not rational, or would be of more than 2^16 bits.
  std::optional<Rational> sqrt() const;
  std::optional<Rational> power(const Rational& exponent) const;

 private:
  enum class Kind : uint8_t { kFinite, kPlusInfinity, kMinusInfinity, kNan };
  struct Big;
  explicit Rational(Kind kind) : kind_(kind) {}
  explicit Rational(Big value);
  /// In lowest terms, the denominator greater than 0.
  static Rational of_terms(__int128 numerator, __int128 denominator);
  Big big() const;
  Kind kind_ = Kind::kFinite;
  int64_t numerator_ = 0, denominator_ = 1;  ///< in lowest terms, the denominator greater than 0
  std::shared_ptr<const Big> big_;           ///< what these do not hold; then they are 0 and 1
};

}  // namespace isomer::te
