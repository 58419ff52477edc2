#include "graph/te/simplify.h"

#include <gtest/gtest.h>

#include "graph/te/print.h"
#include "support/long_run.h"
#include "te/random_expr.h"

namespace isomer::te {
namespace {

TEST(Simplify, keeps_every_value_and_is_idempotent) {
  const int count = isomer::test::is_long_run() ? 1'000'000 : 10'000;
  Random random(1);
  int64_t compared = 0, before = 0, after = 0;
  for (int i = 0; i < count; ++i) {
    const Expr expr = random.chance(0.2) ? test::random_condition(random, 3) : test::random_index(random, 4);
    const Expr simple = simplify_index(expr, test::range_of);
    ASSERT_EQ(print(simplify_index(simple, test::range_of)), print(simple)) << print(expr);
    for_each_node(expr, [&](const Expr&) { ++before; });
    for_each_node(simple, [&](const Expr&) { ++after; });
    for (int j = 0; j < 8; ++j) {
      const auto binding = test::random_binding(random);
      const auto expected = test::value_of(expr, binding);
      if (!expected) continue;
      ++compared;
      ASSERT_EQ(test::value_of(simple, binding), expected) << print(expr) << "\nbecame " << print(simple);
    }
  }
  EXPECT_GT(compared, count * 4);
  EXPECT_LT(after, before);
}

TEST(Simplify, bounds_hold_every_value) {
  Random random(2);
  for (int i = 0; i < 5'000; ++i) {
    const Expr expr = test::random_index(random, 4);
    const Interval interval = bounds(expr, test::range_of);
    for (int j = 0; j < 8; ++j) {
      const auto value = test::value_of(expr, test::random_binding(random));
      if (!value) continue;
      ASSERT_LE(interval.low.value_or(*value), *value) << print(expr);
      ASSERT_GE(interval.high.value_or(*value), *value) << print(expr);
    }
  }
}

}  // namespace
}  // namespace isomer::te
