// Sums and products of floats have one form in whatever order they are written, and integers stay as they are.
#include <gtest/gtest.h>

#include "graph/te/parser.h"
#include "graph/te/regroup.h"
#include "graph/te/simplify.h"

namespace isomer::te::test {
namespace {

Expr datum(int k) { return load({BufferRef::Kind::kInput, k, 0}, DataType::kFloat32, {}); }

TEST(Regrouped, ProductsAndSumsInAnyOrderAreOne) {
  const Expr a = datum(0), b = datum(1), c = datum(2), r = sqrt(b);
  EXPECT_EQ(regrouped((a + b) + c), regrouped(a + (c + b)));
  EXPECT_EQ(regrouped((a * b) * c), regrouped(c * (a * b)));
  EXPECT_EQ(regrouped(a - (b - c)), regrouped((c + a) - b));
  EXPECT_EQ(regrouped(a + -b), regrouped(a - b));
  EXPECT_EQ(regrouped(a / r), regrouped(a * (Number(1) / r)));
  EXPECT_EQ(regrouped(a / (b / c)), regrouped(a * c / b));
  EXPECT_EQ(regrouped(pow(a, literal(2, DataType::kFloat32)) * b), regrouped(a * b * a));
  EXPECT_EQ(regrouped(pow(a, literal(3, DataType::kFloat32))), regrouped(a * a * a));
  EXPECT_EQ(regrouped(erf((a + b) * c) * a), regrouped(a * erf(c * (b + a))));
}

TEST(Regrouped, WhatIsNotTheSameStaysApart) {
  const Expr a = datum(0), b = datum(1), c = datum(2);
  EXPECT_NE(regrouped(a - b), regrouped(b - a));
  EXPECT_NE(regrouped(a / b), regrouped(b / a));
  EXPECT_NE(regrouped(a * (b + c)), regrouped(a * b + c));
  EXPECT_NE(regrouped(a * a), regrouped(a));
  EXPECT_NE(regrouped(a / a), regrouped(literal(1, DataType::kFloat32)));
  EXPECT_NE(regrouped(pow(a, literal(3, DataType::kFloat32))), regrouped(a * a));
  EXPECT_NE(regrouped(pow(a, b)), regrouped(a * b));
  EXPECT_NE(regrouped(exp(a + b)), regrouped(exp(a) + b));
}

TEST(Regrouped, WhatGrowsBeyondMeasureStays) {
  for (const bool adds : {true, false}) {
    Expr cubes = datum(0);
    for (int k = 0; k < 24; ++k) cubes = pow(adds ? cubes + datum(1) : cubes, literal(3, DataType::kFloat32));
    EXPECT_LT(node_count(regrouped(cubes), 100'000), 100'000);
  }
}

TEST(Regrouped, IntegersStay) {
  const Expr a = load({BufferRef::Kind::kInput, 0, 0}, DataType::kInt32, {}),
             b = load({BufferRef::Kind::kInput, 1, 0}, DataType::kInt32, {});
  for (const Expr& each : {b - a, a / b, (b + a) + b}) EXPECT_EQ(regrouped(each), each);
}

}  // namespace
}  // namespace isomer::te::test
