#include "graph/te/number.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>

#include "util/check.h"

namespace isomer::te {

Number::Number(double exact) {
  if (std::isnan(exact)) {
    *this = nan();
  } else if (std::isinf(exact)) {
    *this = infinity(exact < 0);
  } else if (exact != 0) {
    numerator_ = static_cast<int64_t>(std::ldexp(std::frexp(exact, &exponent_), 53));
    exponent_ -= 53;
    normalize();
  }
}

Number Number::from_unsigned(uint64_t value) {
  Number result;
  result.numerator_ = value;
  result.normalize();
  return result;
}

Number Number::fraction(int64_t numerator, int64_t denominator) {
  CHECK(denominator != 0);
  Number result;
  result.numerator_ = denominator < 0 ? -static_cast<__int128>(numerator) : numerator;
  result.denominator_ = std::abs(denominator);
  result.normalize();
  return result;
}

Number Number::infinity(bool negative) {
  Number result;
  result.kind_ = Kind::kInfinity;
  result.numerator_ = negative ? -1 : 1;
  return result;
}

Number Number::nan() {
  Number result;
  result.kind_ = Kind::kNan;
  return result;
}

void Number::normalize() {
  if (numerator_ == 0) {
    denominator_ = 1;
    exponent_ = 0;
    return;
  }
  const auto magnitude = static_cast<unsigned __int128>(numerator_ < 0 ? -numerator_ : numerator_);
  const auto common = std::gcd(static_cast<int64_t>(magnitude % static_cast<uint64_t>(denominator_)), denominator_);
  if (denominator_ > 1) {
    numerator_ /= common;
    denominator_ /= common;
  }
  while (numerator_ % 2 == 0) numerator_ /= 2, ++exponent_;
  while (denominator_ % 2 == 0) denominator_ /= 2, --exponent_;
}

double Number::to_double() const {
  if (kind_ == Kind::kNan) return std::numeric_limits<double>::quiet_NaN();
  if (kind_ == Kind::kInfinity)
    return numerator_ < 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  const long double quotient = static_cast<long double>(numerator_) / static_cast<long double>(denominator_);
  return static_cast<double>(std::ldexp(quotient, exponent_));
}

int64_t Number::to_int64() const {
  if (kind_ == Kind::kNan) return 0;
  if (kind_ == Kind::kInfinity)
    return numerator_ < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  const __int128 quotient = numerator_ / denominator_;
  if (exponent_ >= 64 || exponent_ <= -127) return 0;
  if (exponent_ >= 0) return static_cast<int64_t>(static_cast<unsigned __int128>(quotient) << exponent_);
  const unsigned __int128 magnitude = static_cast<unsigned __int128>(quotient < 0 ? -quotient : quotient) >> -exponent_;
  return static_cast<int64_t>(quotient < 0 ? -magnitude : magnitude);
}

Number Number::negated() const {
  Number result = *this;
  result.numerator_ = -result.numerator_;
  return result;
}

std::string Number::text() const {
  if (kind_ == Kind::kNan) return "nan";
  if (kind_ == Kind::kInfinity) return numerator_ < 0 ? "-inf" : "inf";
  const bool small = exponent_ >= -62 && exponent_ <= 64;
  const auto magnitude = numerator_ < 0 ? -numerator_ : numerator_;
  if (small && exponent_ >= 0 && (magnitude >> (126 - exponent_)) == 0)
    return denominator_ == 1 ? fmt::format("{}", numerator_ << exponent_)
                             : fmt::format("{}/{}", numerator_ << exponent_, denominator_);
  if (small && exponent_ < 0 && (denominator_ >> (62 + exponent_)) == 0 && -exponent_ <= 12)
    return fmt::format("{}/{}", numerator_, denominator_ << -exponent_);
  return fmt::format("{}/{}p{}", numerator_, denominator_, exponent_);
}

namespace {

/// 5^power for powers from 0 on; nothing where that has more than 126 bits.
std::optional<__int128> power_of_five(int64_t power) {
  constexpr int64_t kMost = 54;
  if (power > kMost) return std::nullopt;
  __int128 result = 1;
  for (; power > 0; --power) result *= 5;
  return result;
}

}  // namespace

// Besides what text() says decimals, "0.5" and "1e-3", as the fractions that they are.
bool Number::parse(const std::string& text, Number& out) {
  if (text == "nan" || text == "inf" || text == "-inf") {
    out = text == "nan" ? nan() : infinity(text[0] == '-');
    return true;
  }
  size_t at = 0;
  const auto digits = [&](__int128& value, int most = 38) {
    const size_t first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && most > 0; ++at, --most)
      value = value * 10 + (text[at] - '0');
    return static_cast<int>(at - first);
  };
  const auto next_is = [&](char c) { return at < text.size() && text[at] == c; };
  /// Behind a letter, to the end.
  const auto exponent = [&](int64_t& value) {
    char* end = nullptr;
    const char* const begin = text.c_str() + at + 1;
    value = std::strtol(begin, &end, 10);
    at = text.size();
    return end != begin && end == text.c_str() + text.size() && std::labs(value) <= 5000;
  };
  const bool negative = !text.empty() && text[0] == '-';
  at = negative;
  __int128 numerator = 0, denominator = 1;
  const int before_point = digits(numerator);
  if (before_point == 0) return false;
  int64_t twos = 0;
  if (next_is('.') || next_is('e')) {
    int64_t tens = 0;
    int behind_point = 0;
    if (next_is('.')) {
      ++at;
      behind_point = digits(numerator, 38 - before_point);
      if (behind_point == 0) return false;
    }
    if (next_is('e') && !exponent(tens)) return false;
    twos = tens - behind_point;
    const auto fives = power_of_five(std::abs(twos));
    __int128& scaled = twos < 0 ? denominator : numerator;
    if (!fives || scaled > (static_cast<__int128>(1) << 126) / *fives) return false;
    scaled *= *fives;
  } else if (next_is('/')) {
    ++at;
    denominator = 0;
    if (!digits(denominator)) return false;
  }
  if (next_is('p') && !exponent(twos)) return false;
  if (at != text.size() || denominator == 0 || denominator > std::numeric_limits<int64_t>::max()) return false;
  Number result;
  result.exponent_ = static_cast<int>(twos);
  result.numerator_ = negative ? -numerator : numerator;
  result.denominator_ = static_cast<int64_t>(denominator);
  result.normalize();
  out = result;
  return true;
}

void Number::hash_into(Hasher& hasher) const {
  hasher.add(static_cast<uint64_t>(kind_)).add(static_cast<uint64_t>(numerator_));
  hasher.add(static_cast<uint64_t>(numerator_ >> 64)).add(static_cast<uint64_t>(denominator_));
  hasher.add(static_cast<uint64_t>(static_cast<int64_t>(exponent_)));
}

}  // namespace isomer::te
