#include "graph/te/rational.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace isomer::te {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Rational whole(__int128 value) { return Rational(value); }
Rational fraction(int64_t over, int64_t under) { return whole(over) / whole(under); }

/// Fractions of all sizes: of some bits, about where 64 bits end, and beyond.
std::vector<Rational> fractions() {
  std::mt19937_64 random(5);
  std::vector<Rational> result = {whole(0),
                                  whole(1),
                                  whole(-1),
                                  whole(kMost),
                                  whole(-kMost),
                                  whole(__int128{kMost} + 1),
                                  whole(-__int128{kMost} - 1),
                                  fraction(1, kMost),
                                  whole(1) / whole(__int128{kMost} + 1)};
  for (const int bits : {2, 8, 31, 33, 62, 63, 64, 100})
    for (int k = 0; k < 6; ++k) {
      const auto some = [&] {
        const __int128 value = static_cast<__int128>(random()) << 64 | random();
        return value >> (127 - bits);
      };
      const __int128 under = some();
      result.push_back(whole(some()) / whole(under == 0 ? 1 : under));
    }
  return result;
}

TEST(Rationals, AreAField) {
  const std::vector<Rational> all = fractions();
  for (const Rational& a : all)
    for (const Rational& b : all) {
      EXPECT_EQ(a + b, b + a);
      EXPECT_EQ(a * b, b * a);
      EXPECT_EQ(a + b - b, a) << a.text() << ' ' << b.text();
      if (b.sign() != 0) {
        EXPECT_EQ(a * b / b, a) << a.text() << ' ' << b.text();
      }
      EXPECT_EQ(a < b, (a - b).sign() < 0) << a.text() << ' ' << b.text();
      EXPECT_EQ(a == b, (a - b).sign() == 0) << a.text() << ' ' << b.text();
      const Rational c = all[all.size() / 2];
      EXPECT_EQ((a + b) * c, a * c + b * c) << a.text() << ' ' << b.text();
    }
}

TEST(Rationals, AreTheSameHoweverTheyCameToBe) {
  const Rational large = whole(__int128{1} << 100);
  for (const Rational& a : fractions()) {
    const Rational same = (a * large + whole(1) - whole(1)) / large;
    EXPECT_EQ(a, same);
    EXPECT_EQ(a.text(), same.text());
    EXPECT_EQ(a.sign(), same.sign());
    EXPECT_EQ(a.is_integer(), same.is_integer());
    EXPECT_EQ(-(-a), a);
  }
}

TEST(Rationals, RoundInEitherDirection) {
  for (const Rational& a : fractions()) {
    const Rational below = a.floor();
    EXPECT_TRUE(below.is_integer());
    EXPECT_FALSE(a < below);
    EXPECT_LT(a, below + whole(1));
    const Rational apart = a - a.round(), half = fraction(1, 2);
    EXPECT_FALSE(half < apart || apart < -half) << a.text();
  }
  EXPECT_EQ(fraction(5, 2).round(), whole(2));
  EXPECT_EQ(fraction(-7, 2).floor(), whole(-4));
  EXPECT_EQ(fraction(-7, 2).truncated_to_int64(), -3);
}

TEST(Rationals, RoundToTheNearestOfAType) {
  EXPECT_EQ(whole(2049).rounded(DataType::kFloat16), whole(2048));
  EXPECT_EQ(whole(2047).rounded(DataType::kFloat16), whole(2047));
  EXPECT_EQ(fraction(2047, 1024).rounded(DataType::kFloat16), fraction(2047, 1024));
  EXPECT_EQ(fraction(2047, 1024).rounded(DataType::kBFloat16), whole(2));
  EXPECT_EQ(fraction(1, 3).rounded(DataType::kFloat16), fraction(1365, 4096));
  EXPECT_EQ(fraction(255, 1024).rounded(DataType::kBFloat16), fraction(255, 1024));
  for (const Rational& a : fractions()) {
    const Rational nearest = a.rounded(DataType::kFloat32);
    EXPECT_EQ(nearest, nearest.rounded(DataType::kFloat32)) << a.text();
  }
}

}  // namespace
}  // namespace isomer::te
