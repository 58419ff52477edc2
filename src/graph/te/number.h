// Exact literals of tensor expressions: a rational times a power of two, or an infinity or NaN. Every int64, uint64 and
// double, and every fraction of two int64, is one; rounding happens only in the algebra or the code that reads it.
#pragma once

#include <cstdint>
#include <string>

#include "util/hash.h"

namespace isomer::te {

class Number {
 public:
  enum class Kind : uint8_t { kFinite, kInfinity, kNan };

  Number() = default;
  Number(int value) : Number(static_cast<int64_t>(value)) {}
  Number(int64_t value) : numerator_(value) { normalize(); }
  Number(double exact);
  static Number from_unsigned(uint64_t value);
  /// denominator != 0
  static Number fraction(int64_t numerator, int64_t denominator);
  /// negative ? -inf : +inf
  static Number infinity(bool negative = false);
  static Number nan();

  Kind kind() const { return kind_; }
  bool is_finite() const { return kind_ == Kind::kFinite; }
  bool is_negative() const { return numerator_ < 0; }
  /// value = numerator / denominator * 2^exponent, in lowest terms: both odd unless zero, denominator > 0.
  __int128 numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }
  int exponent() const { return exponent_; }

  bool is_integer() const { return is_finite() && denominator_ == 1 && exponent_ >= 0; }
  bool equals(int64_t value) const { return *this == Number(value); }
  /// Nearest double.
  double to_double() const;
  /// The integer modulo 2^64 as two's complement; fractions truncate toward zero, NaN gives 0, infinities saturate.
  int64_t to_int64() const;

  Number negated() const;
  /// Readable and exact: "3", "-1/3", "5/1p-40" (times a power of two), "inf", "-inf", "nan"; `parse` reads it back.
  std::string text() const;
  static bool parse(const std::string& text, Number& out);
  bool operator==(const Number&) const = default;
  void hash_into(Hasher& hasher) const;

 private:
  void normalize();
  Kind kind_ = Kind::kFinite;
  __int128 numerator_ = 0;
  int64_t denominator_ = 1;
  int exponent_ = 0;
};

}  // namespace isomer::te
