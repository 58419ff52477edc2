// Bounds of what doubles lose: the real number lies within them, and they are zero only where nothing is lost.
#include "graph/te/approximate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "util/random.h"

namespace isomer::te {
namespace {

constexpr DataType kFloat = DataType::kFloat32;
constexpr int64_t kSize = 8;

Expr at(int input) { return load({BufferRef::Kind::kInput, input, 0}, kFloat, {axis(0)}); }

Program map(const Expr& body) {
  Program program;
  program.outputs = {program.map({Dim(kSize)}, body)};
  return program;
}

/// A sum, product, … of sums, products, … of two inputs: what rationals know of it, too.
Expr random_body(Random& random, int depth) {
  if (depth == 0) return at(random.uniform(0, 1) < 0.5 ? 0 : 1);
  const Expr a = random_body(random, depth - 1), b = random_body(random, depth - 1);
  switch (static_cast<int>(random.uniform(0, 7))) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / (b * b + 1);
    case 4: return min(a, b);
    case 5: return max(a, abs(b));
    default: return select(a < b, a, b * Number::fraction(1, 3));
  }
}

/// How far the program's output is from real numbers, which rationals show to be true; nothing where it is not known.
std::optional<Distance> distance_in(const Program& program, const std::vector<Tensor>& inputs) {
  std::vector<Approximate> arguments;
  const Concrete<RationalAlgebra> scalars;
  std::vector<ValuesOver<RationalAlgebra>> values;
  std::vector<const ValuesOver<RationalAlgebra>*> given;
  for (const Tensor& input : inputs) {
    arguments.push_back({Array::from(input), {}});
    values.push_back(*import_tensor(scalars, input));
  }
  for (const auto& value : values) given.push_back(&value);
  const auto made = approximate(program, program.outputs[0], arguments);
  if (!made.ok()) return std::nullopt;
  const auto real = evaluate(program, scalars, given);
  EXPECT_TRUE(real.ok()) << real.error().message();
  if (!real.ok()) return std::nullopt;
  for (int64_t i = 0; i < made->value.count(); ++i) {
    const Rational& expected = std::get<1>((*real)[0].elements[static_cast<size_t>(i)]);
    const double found = made->value.real(i);
    const double off = std::fabs((expected - Rational(Number(found))).to_double());
    EXPECT_LE(off, made->distance.relative * std::fabs(found) + made->distance.absolute) << i;
  }
  return made->distance;
}

TEST(Approximate, TheRealNumberIsWithinItsDistance) {
  Random random(1);
  int exact = 0, inexact = 0;
  for (int round = 0; round < 300; ++round) {
    const Program program = map(random_body(random, 1 + round % 4));
    std::vector<Tensor> inputs;
    for (int input = 0; input < 2; ++input) {
      std::vector<double> elements;
      for (int64_t i = 0; i < kSize; ++i)
        elements.push_back(std::ldexp(std::round(random.uniform(-9, 9)), round % 3 * 20));
      inputs.push_back(Tensor::from_doubles(kFloat, {kSize}, elements));
    }
    const auto distance = distance_in(program, inputs);
    // Where branches are as near as their bounds, none is known.
    if (!distance) continue;
    (distance->is_zero() ? exact : inexact) += 1;
  }
  EXPECT_GT(exact, 30);
  EXPECT_GT(inexact, 30);
}

/// A running total and a running product of totals: the second state is as far off as both are.
TEST(Approximate, RunningTotalsAreWithinTheirDistance) {
  Program program;
  const Expr added = load({BufferRef::Kind::kInput, 0, 0}, kFloat, {time_step()});
  const MapReduce total{{}, {}, {}, {load_state(0, kFloat, {}) + added}};
  const MapReduce product{{}, {}, {}, {load_state(1, kFloat, {}) * load_inner(0, kFloat, {}) / 3}};
  const StageValue totals = program.scan(
      {Dim(kSize), {{{}, literal(Number(0), kFloat)}, {{}, literal(Number(1), kFloat)}}, {total, product}, {0, 1}});
  const auto distance_of = [&](int component, const std::vector<double>& elements) {
    program.outputs = {{totals.stage, component}};
    return distance_in(program, {Tensor::from_doubles(kFloat, {kSize}, elements)});
  };
  const std::vector<double> integers = {1, 1, 2, -3, 1, 1, 4, 5}, fractions = {1, 1e-9, 2, 3e8, -1, 1e-9, 4, 5e-12};
  const auto exact = distance_of(0, integers), lost = distance_of(0, fractions), product_of = distance_of(1, integers);
  ASSERT_TRUE(exact && lost && product_of);
  EXPECT_TRUE(exact->is_zero()) << "sums that doubles hold";
  EXPECT_FALSE(lost->is_zero());
  EXPECT_FALSE(product_of->is_zero());
  EXPECT_LT(product_of->relative, 0x1p-40);
}

TEST(Approximate, RootsThatAreNumbersAreExact) {
  const std::vector<double> squares = {1, 4, 196, 256, 0.25, 0, 9, 1024}, others = {1, 4, 196, 256, 0.25, 0, 9, 1000};
  const Program root = map(pow(at(0), literal(Number::fraction(1, 2), kFloat)));
  const auto distance_of = [&](const std::vector<double>& elements) {
    const Approximate argument{Array::from(Tensor::from_doubles(kFloat, {kSize}, elements)), {}};
    return approximate(root, root.outputs[0], std::vector{argument})->distance;
  };
  EXPECT_TRUE(distance_of(squares).is_zero());
  EXPECT_FALSE(distance_of(others).is_zero());
}

/// As in a variance, whose terms lie on both sides of zero.
TEST(Approximate, SquaresOfWhatIsNearZeroAreKnown) {
  const std::vector<double> elements = {-2, -0.5, -0x1p-20, 0, 0x1p-20, 0.5, 1, 3};
  const Tensor x = Tensor::from_doubles(kFloat, {kSize}, elements);
  const double off = 0x1p-22;
  const std::vector<Approximate> arguments = {{Array::from(x), {.absolute = off}}};
  const Program square = map(pow(at(0), literal(Number(2), kFloat)));
  const auto made = approximate(square, square.outputs[0], arguments);
  ASSERT_TRUE(made.ok()) << made.error().message();
  for (int64_t i = 0; i < kSize; ++i)
    for (const double moved : {elements[i] - off, elements[i] + off}) {
      const double value = made->value.as_double(i);
      const double allowed = made->distance.relative * value + made->distance.absolute;
      EXPECT_LE(std::fabs(moved * moved - value), allowed);
    }
  EXPECT_LT(made->distance.absolute, 8 * off) << "and not much further";
  const Program cube = map(pow(at(0), literal(Number(3), kFloat)));
  EXPECT_FALSE(approximate(cube, cube.outputs[0], arguments).ok());
}

TEST(Approximate, WhatIsMovedIsAsFarAsItWas) {
  const std::vector<double> elements = {1, -2, 0, 4, 1e-9, 6, 7, 8};
  const Approximate before{Array::reals(kFloat, {kSize}, elements), {0x1p-24, 0x1p-30}};
  const Program turned = map(load({BufferRef::Kind::kInput, 0, 0}, kFloat, {7 - axis(0)}));
  const auto made = approximate(turned, turned.outputs[0], std::vector{before});
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->distance.relative, before.distance.relative);
  EXPECT_EQ(made->distance.absolute, before.distance.absolute);
}

/// A function has no value for some exact numbers, however it rounds; beside its end an inexact one may have one or
/// not.
TEST(Approximate, WhereThereIsNoValueNothingIsInDoubt) {
  const std::vector<double> elements = {0.5, 2, -3, 0.25, 1, -1, 0, 7};
  const Program program = map(unary(UnaryOp::kAsin, load({BufferRef::Kind::kInput, 0, 0}, kFloat, {axis(0)})));
  const Array array = Array::reals(kFloat, {kSize}, elements);
  const auto exact = approximate(program, program.outputs[0], std::vector{Approximate{array, {}}});
  ASSERT_TRUE(exact.ok()) << exact.error().message();
  EXPECT_TRUE(std::isnan(exact->value.real(1)));
  EXPECT_TRUE(rounded(*exact).ok());
  EXPECT_FALSE(approximate(program, program.outputs[0], std::vector{Approximate{array, {0x1p-24, 0}}}).ok());
}

TEST(Approximate, WhatIsRoundedIsWithinItsDistance) {
  struct Case {
    std::vector<double> elements;
    Distance distance;
    bool is_rounded;
  };
  const Case cases[] = {{{1, 2, 0.5}, {}, true},
                        {{0.1, 0.2, 0.3}, {}, true},
                        {{1, 1e-9, 1}, {0, 0x1p-20}, true},
                        {{1e-9, 1e-9, 1}, {0, 0x1p-20}, false},
                        {{1, 1, 1}, {0x1p-9, 0}, false},
                        {{1e-60, 1e-60}, {}, false},
                        {{1e60, 1}, {}, false},
                        {{INFINITY, 1, NAN}, {}, true}};
  for (const Case& each : cases) {
    const Dims dims = {static_cast<int64_t>(each.elements.size())};
    const auto made = rounded({Array::reals(kFloat, dims, each.elements), each.distance});
    EXPECT_EQ(made.ok(), each.is_rounded) << each.elements[0];
    for (size_t i = 0; made.ok() && i < each.elements.size(); ++i) {
      const double found = made->tensor.real(static_cast<int64_t>(i));
      if (!std::isfinite(found)) continue;
      EXPECT_LE(std::fabs(found - each.elements[i]),
                made->distance.relative * std::fabs(found) * 1.001 + made->distance.absolute);
    }
  }
}

}  // namespace
}  // namespace isomer::te
