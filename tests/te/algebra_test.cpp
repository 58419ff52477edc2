#include <gtest/gtest.h>

#include <cmath>

#include "graph/te/algebra_floating.h"
#include "graph/te/algebra_int64.h"
#include "graph/te/algebra_prime.h"
#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "graph/te/print.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::te {
namespace {

Rational ratio(int64_t a, int64_t b = 1) { return Rational(Number::fraction(a, b)); }

/// A double of any size and a short or long mantissa.
double random_double(Random& random) {
  const double mantissa = std::ldexp(static_cast<double>(random.next() >> 11), -static_cast<int>(random.below(53)));
  return std::ldexp(random.chance(0.5) ? mantissa : -mantissa, static_cast<int>(random.between(-80, 80)));
}

TEST(Rational, rounds_as_the_processor_does) {
  Random random(3);
  for (int i = 0; i < (isomer::test::is_long_run() ? 100'000 : 3'000); ++i) {
    const double a = random_double(random), b = random_double(random);
    const Rational x = Rational(Number(a)), y = Rational(Number(b));
    ASSERT_EQ((x + y).to_double(), a + b);
    ASSERT_EQ((x * y).to_double(), a * b);
    if (b != 0) {
      ASSERT_EQ((x / y).to_double(), a / b);
    }
    ASSERT_EQ(x.rounded(DataType::kFloat32).to_double(), static_cast<double>(static_cast<float>(a)));
    ASSERT_EQ(x.rounded(DataType::kFloat16).to_double(), round_to(DataType::kFloat16, a)) << a;
    ASSERT_EQ(x.rounded(DataType::kBFloat16).to_double(), round_to(DataType::kBFloat16, a)) << a;
    ASSERT_EQ(x.floor().to_double(), std::floor(a));
    ASSERT_EQ(x.round().to_double(), std::nearbyint(a));
    ASSERT_EQ(x < y, a < b);
  }
}

TEST(Rational, rounds_ties_subnormals_and_overflow) {
  const auto half = [](double x) { return Rational(Number(x)).rounded(DataType::kFloat16).text(); };
  EXPECT_EQ(half(2049), "2048");
  EXPECT_EQ(half(2051), "2052");
  EXPECT_EQ(half(65519.99), "65504");
  EXPECT_EQ(half(65520), "inf");
  EXPECT_EQ(half(-1e9), "-inf");
  EXPECT_EQ(half(0x1p-24), "1/16777216");
  EXPECT_EQ(half(0x1p-25), "0");
  EXPECT_EQ(half(0x1.8p-25), "1/16777216");
}

TEST(Rational, follows_the_rules_of_infinity) {
  const Rational inf = Rational::infinity(false), minus = Rational::infinity(true), none;
  EXPECT_EQ((inf + ratio(1)).text(), "inf");
  EXPECT_EQ((ratio(1) - inf).text(), "-inf");
  EXPECT_EQ((inf + minus).text(), "nan");
  EXPECT_EQ((inf * none).text(), "nan");
  EXPECT_EQ((minus * ratio(-2)).text(), "inf");
  EXPECT_EQ((ratio(-1) / none).text(), "-inf");
  EXPECT_EQ((none / none).text(), "nan");
  EXPECT_EQ((ratio(3) / minus).text(), "0");
  EXPECT_EQ((minus / ratio(-3)).text(), "inf");
  EXPECT_TRUE(minus < none && none < inf && minus < inf);
  EXPECT_FALSE(minus < minus || inf < inf || inf < none);
  EXPECT_TRUE(minus == minus);
  EXPECT_FALSE(Rational::nan() == Rational::nan() || Rational::nan() < inf);
}

TEST(Rational, functions_are_exact_or_refused) {
  const RationalAlgebra algebra;
  const auto of = [&](UnaryOp op, const Rational& x) {
    try {
      return algebra.apply(op, x).text();
    } catch (const Failure& failure) {
      return failure.error.message();
    }
  };
  EXPECT_EQ(of(UnaryOp::kSqrt, ratio(9, 4)), "3/2");
  EXPECT_EQ(of(UnaryOp::kSqrt, ratio(2)), "a function of 2 that is not rational");
  EXPECT_EQ(of(UnaryOp::kExp, ratio(0)), "1");
  EXPECT_EQ(of(UnaryOp::kExp, Rational::infinity(true)), "0");
  EXPECT_EQ(of(UnaryOp::kExp, ratio(1)), "a function of 1 that is not rational");
  EXPECT_EQ(of(UnaryOp::kLog, ratio(0)), "-inf");
  EXPECT_EQ(of(UnaryOp::kTanh, Rational::infinity(true)), "-1");
  EXPECT_EQ(of(UnaryOp::kCeil, ratio(-7, 2)), "-3");
  EXPECT_EQ(of(UnaryOp::kRound, ratio(5, 2)), "2");
  EXPECT_EQ(ratio(-2, 3).power(ratio(-3))->text(), "-27/8");
  EXPECT_EQ(ratio(4).power(ratio(1, 2))->text(), "2");
  EXPECT_FALSE(ratio(2).power(ratio(int64_t{1} << 40)).has_value());
  EXPECT_EQ(ratio(-1).power(ratio((int64_t{1} << 40) + 1))->text(), "-1");
  EXPECT_FALSE(ratio(2).power(ratio(1, 3)).has_value());
}

TEST(Rational, remainders_agree_with_doubles) {
  const RationalAlgebra exact;
  const DoubleAlgebra real;
  Random random(4);
  for (int i = 0; i < 5'000; ++i) {
    const double a = static_cast<double>(random.between(-50, 50)) / 4,
                 b = static_cast<double>(random.between(-20, 20)) / 2;
    if (b == 0) continue;
    for (const BinaryOp op : {BinaryOp::kFloorMod, BinaryOp::kTruncMod, BinaryOp::kMin, BinaryOp::kMax})
      ASSERT_EQ(exact.apply(op, Rational(Number(a)), Rational(Number(b))).to_double(), real.apply(op, a, b))
          << a << " " << b;
  }
}

TEST(PrimeField, is_a_field) {
  using F = PrimeFieldAlgebra;
  const F f;
  Random random(5);
  const auto any = [&] { return random.chance(0.2) ? F::residue(random.between(-3, 3)) : random.below(F::kPrime); };
  const auto op = [&](BinaryOp o, uint64_t a, uint64_t b) { return f.apply(o, a, b); };
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t a = any(), b = any(), c = any();
    ASSERT_EQ(op(BinaryOp::kAdd, a, op(BinaryOp::kAdd, b, c)), op(BinaryOp::kAdd, op(BinaryOp::kAdd, a, b), c));
    ASSERT_EQ(op(BinaryOp::kMul, a, op(BinaryOp::kMul, b, c)), op(BinaryOp::kMul, op(BinaryOp::kMul, a, b), c));
    ASSERT_EQ(op(BinaryOp::kMul, a, op(BinaryOp::kAdd, b, c)),
              op(BinaryOp::kAdd, op(BinaryOp::kMul, a, b), op(BinaryOp::kMul, a, c)));
    ASSERT_EQ(op(BinaryOp::kMul, a, b), static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % F::kPrime));
    ASSERT_EQ(op(BinaryOp::kSub, op(BinaryOp::kAdd, a, b), b), a);
    if (b != 0) {
      ASSERT_EQ(op(BinaryOp::kMul, op(BinaryOp::kDiv, a, b), b), a);
    }
  }
}

TEST(PrimeField, order_is_total_and_seeded) {
  const PrimeFieldAlgebra f(17), other(18);
  Random random(6);
  int differing = 0;
  for (int i = 0; i < 5'000; ++i) {
    const uint64_t a = random.below(PrimeFieldAlgebra::kPrime + 2), b = random.below(1000), c = random.below(1000);
    ASSERT_EQ(f.compare(BinaryOp::kLess, a, b) + f.compare(BinaryOp::kLess, b, a) + (a == b), 1);
    if (f.compare(BinaryOp::kLess, a, b) && f.compare(BinaryOp::kLess, b, c)) {
      ASSERT_TRUE(f.compare(BinaryOp::kLess, a, c));
    }
    const uint64_t least = f.apply(BinaryOp::kMin, a, b), greatest = f.apply(BinaryOp::kMax, a, b);
    ASSERT_TRUE(f.compare(BinaryOp::kLessEqual, least, greatest));
    ASSERT_EQ(least ^ greatest, a ^ b);
    ASSERT_EQ(f.apply(BinaryOp::kMax, PrimeFieldAlgebra::kMinusInfinity, a), a);
    differing += f.compare(BinaryOp::kLess, a, b) != other.compare(BinaryOp::kLess, a, b);
  }
  EXPECT_GT(differing, 1000);
}

TEST(PrimeField, keeps_small_integers_and_fractions) {
  const PrimeFieldAlgebra f;
  EXPECT_EQ(f.to_integer(f.from_number(-7), DataType::kInt32), -7);
  EXPECT_EQ(f.apply(UnaryOp::kFloor, f.from_number(12)), 12u);
  const uint64_t half = f.from_number(0.5);
  EXPECT_EQ(f.apply(BinaryOp::kAdd, half, half), 1u);
  EXPECT_EQ(f.apply(BinaryOp::kMul, f.from_number(Number::fraction(-3, 7)), 7), f.from_number(-3));
  EXPECT_EQ(f.apply(BinaryOp::kPow, half, f.from_number(-3)), 8u);
  EXPECT_EQ(f.apply(BinaryOp::kFloorMod, f.from_number(-7), f.from_number(3)), 2u);
  const uint64_t rounded = f.apply(UnaryOp::kRound, half);
  EXPECT_EQ(f.apply(UnaryOp::kRound, rounded), rounded);
}

/// A random polynomial in the elements of input 0, with small literals.
Expr random_polynomial(Random& random, int depth) {
  if (depth == 0)
    return random.chance(0.7) ? load({BufferRef::Kind::kInput, 0, 0}, DataType::kFloat32,
                                     {random.chance(0.5) ? axis(0) : reduce_axis(0)})
                              : literal(random.between(-3, 3), DataType::kFloat32);
  const Expr a = random_polynomial(random, depth - 1), b = random_polynomial(random, depth - 1);
  switch (random.below(5)) {
    case 0: return a * b;
    case 1: return a - b;
    case 2: return select(floor_mod(axis(0) + reduce_axis(0), index(2)) < index(1), a, -b);
    case 3: return a + cast(DataType::kFloat32, reduce_axis(0) * axis(0));
    default: return a + b;
  }
}

template <RealAlgebra A>
Result<std::vector<typename A::Value>> values_over(const A& algebra, const Program& program, const Tensor& input) {
  const Concrete<A> scalars(algebra);
  TRY(const auto values, import_tensor(scalars, input));
  TRY(const auto outputs, evaluate(program, scalars, {&values}));
  std::vector<typename A::Value> result;
  for (const auto& element : outputs[0].elements) result.push_back(Concrete<A>::real_of(element));
  return result;
}

TEST(Algebras, agree_on_polynomials_of_integers) {
  Random random(8);
  int compared = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> elements;
    for (int k = 0; k < 4; ++k) elements.push_back(static_cast<double>(random.between(-4, 4)));
    const Tensor input = Tensor::from_doubles(DataType::kFloat32, {4}, elements);
    Program program;
    const Monoid monoid = random.chance(0.3) ? product(DataType::kFloat32) : sum(DataType::kFloat32);
    const Expr body = random_polynomial(random, 3);
    program.outputs = {program.reduce({4}, {4}, monoid, body)};
    const auto integers = values_over(Int64Algebra(), program, input);
    if (!integers.ok()) continue;
    const auto rationals = values_over(RationalAlgebra(), program, input);
    const auto residues = values_over(PrimeFieldAlgebra(9), program, input);
    const auto doubles = values_over(DoubleAlgebra(), program, input);
    ASSERT_TRUE(rationals.ok() && residues.ok() && doubles.ok()) << print(body);
    for (size_t k = 0; k < 4; ++k) {
      const int64_t expected = (*integers)[k];
      EXPECT_EQ((*rationals)[k].text(), std::to_string(expected)) << print(body);
      EXPECT_EQ((*residues)[k], PrimeFieldAlgebra::residue(expected)) << print(body);
      if (std::abs(expected) < int64_t{1} << 50) {
        EXPECT_EQ((*doubles)[k], static_cast<double>(expected)) << print(body);
      }
      if (std::abs(expected) < 1 << 22) {
        EXPECT_EQ((*values_over(FloatAlgebra(), program, input))[k], static_cast<float>(expected)) << print(body);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Int64Algebra, refuses_what_is_no_integer) {
  const Int64Algebra algebra;
  const auto message = [&](auto evaluate) -> std::string {
    try {
      evaluate();
      return "";
    } catch (const Failure& failure) {
      return failure.error.message();
    }
  };
  EXPECT_EQ(message([&] { algebra.apply(BinaryOp::kDiv, 7, 2); }), "7 / 2 is no integer");
  EXPECT_EQ(message([&] { algebra.apply(BinaryOp::kDiv, 7, 0); }), "7 / 0 is no integer");
  EXPECT_EQ(message([&] { algebra.from_number(0.5); }), "1/2 is no int64");
  EXPECT_EQ(message([&] { algebra.apply(BinaryOp::kMul, int64_t{1} << 40, int64_t{1} << 40); }),
            "a value beyond int64");
  EXPECT_EQ(message([&] { algebra.apply(UnaryOp::kExp, 2); }), "a function of 2 that is no integer");
  EXPECT_EQ(algebra.apply(UnaryOp::kExp, 0), 1);
  EXPECT_EQ(algebra.apply(BinaryOp::kMax, Int64Algebra::kMinusInfinity, -5), -5);
  EXPECT_EQ(algebra.apply(BinaryOp::kPow, -2, 5), -32);
}

}  // namespace
}  // namespace isomer::te
