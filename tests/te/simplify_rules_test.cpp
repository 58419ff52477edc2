#include <gtest/gtest.h>

#include <set>

#include "graph/te/print.h"
#include "graph/te/simplifier.h"
#include "te/random_expr.h"

namespace isomer::te {
namespace {

// Ranges: i0 = 0, i1 in [0,4], i2 in [0,11], r0 in [0,6], n >= 0, m >= 1.

struct Row {
  std::string_view rule;  ///< that must be used; empty: any or none
  std::string before, after;
};

const std::vector<Row>& rules() {
  static const std::vector<Row> rows = {
      {"decided division", "i1 floordiv 5", "0"},
      {"decided division", "(i1 + 10) floordiv 5", "2"},
      {"decided division", "(i1 - 5) floordiv 8", "-1"},
      {"decided division", "n floordiv (n + 1)", "0"},
      {"decided division", "i0 floordiv m", "0"},
      {"divide multiples", "(8*n + i1) floordiv 4", "2*n + i1 floordiv 4"},
      {"divide multiples", "(n + 4*m - 1) floordiv 4", "m + (n + 3) floordiv 4 - 1"},
      {"divide multiples", "2*n*m floordiv m", "2*n"},
      {"divide multiples", "(m*n + m) floordiv (n + 1)", "m"},
      {"divide multiples", "(m*n + n) floordiv m", "n + n floordiv m"},
      {"divide grains", "(4*n + 2) floordiv 8", "n floordiv 2"},
      {"divide grains", "(12*n + r0 + 3) floordiv 24", "n floordiv 2"},
      {"divide grains", "(6*n + 4*m) floordiv 8", "(2*m + 3*n) floordiv 4"},
      {"nested division", "(n floordiv 2) floordiv 3", "n floordiv 6"},
      {"nested division", "(n floordiv 2 + 1) floordiv 2", "(n + 2) floordiv 4"},
      {"nested division", "(n floordiv m) floordiv 2", "n floordiv (2*m)"},
      {"division of remainder", "(n floormod 12) floordiv 3", "n floordiv 3 floormod 4"},
      {"decided remainder", "i1 floormod 5", "i1"},
      {"decided remainder", "(i1 - 5) floormod 8", "i1 + 3"},
      {"decided remainder", "n floormod (n + 1)", "n"},
      {"drop multiples", "(8*n + r0) floormod 4", "r0 floormod 4"},
      {"drop multiples", "(n*m + n) floormod m", "n floormod m"},
      {"remainder of grains", "(4*n + 2) floormod 8", "4*(n floormod 2) + 2"},
      {"remainder of grains", "(5*n + i1) floormod 10", "i1 + 5*(n floormod 2)"},
      {"nested remainder", "(n floormod 12 + m) floormod 4", "(m + n) floormod 4"},
      {"nested remainder", "(2*(n floormod 6)) floormod 4", "2*(n floormod 2)"},
      {"truncating division", "n / 2", "n floordiv 2"},
      {"truncating division", "-n / 2", "-(n floordiv 2)"},
      {"truncating division", "n / -2", "-(n floordiv 2)"},
      {"truncating remainder", "n % 2", "n floormod 2"},
      {"truncating remainder", "-n % 2", "-(n floormod 2)"},
      {"minimum", "min(n, n + 1)", "n"},
      {"minimum", "min(n, min(7, n + 1))", "min(7, n)"},
      {"minimum", "min(i1, 4)", "i1"},
      {"minimum", "min(n, 9223372036854775807)", "n"},
      {"minimum", "min(n - min(n, 3), n)", "n - min(3, n)"},
      {"minimum", "min(n, max(n, m))", "n"},
      {"maximum", "max(n, 0)", "n"},
      {"maximum", "max(n floordiv 2, n)", "n"},
      {"maximum", "max(m, max(n, m))", "max(m, n)"},
      {"division and remainder", "(n floordiv 4)*4 + n floormod 4", "n"},
      {"division and remainder", "n floormod 12 floormod 3 + 3*(n floormod 12 floordiv 3) + 12*(n floordiv 12)", "n"},
      {"division and remainder", "(n floordiv m)*m + n floormod m", "n"},
      {"remainders of digits", "(n floordiv 4 floormod 6)*4 + n floormod 4", "n floormod 24"},
      {"remainders of digits", "m*8 - 2*(n floormod 4) - (n floordiv 4 floormod 6)*8", "8*m - 2*(n floormod 24)"},
      {"difference from multiple", "n - 4*(n floordiv 4)", "n floormod 4"},
      {"difference from multiple", "3*n + m + 1 - 6*((n + 1) floordiv 2)", "m + 3*((n + 1) floormod 2) - 2"},
  };
  return rows;
}

TEST(SimplifyRules, rewrite_what_they_are_for) {
  for (const Row& row : rules()) {
    std::set<std::string_view> used;
    const Ranges ranges = test::range_of;
    Simplifier simplifier(ranges);
    simplifier.on_rule = [&](std::string_view name) { used.insert(name); };
    const auto before = parse_expr(row.before);
    ASSERT_TRUE(before.ok()) << row.before << before.error().message();
    EXPECT_EQ(print(simplifier.simplify(*before)), row.after) << row.before;
    EXPECT_TRUE(used.contains(row.rule)) << row.before << " without " << row.rule;
  }
}

TEST(SimplifyRules, each_has_a_row) {
  std::set<std::string_view> named;
  for (const Row& row : rules()) named.insert(row.rule);
  for (const OperationRule& rule : operation_rules()) EXPECT_TRUE(named.contains(rule.name)) << rule.name;
  for (const SumRule& rule : sum_rules()) EXPECT_TRUE(named.contains(rule.name)) << rule.name;
}

TEST(Simplify, brings_to_normal_form) {
  const std::pair<std::string, std::string> rows[] = {
      {"2*(batch + 1) == 2 + 2*batch", "true"},
      {"(n + 1)*(m - 1)", "m*n + m - n - 1"},
      {"b + a*c + 1 + a", "a*c + a + b + 1"},
      {"-n", "-n"},
      {"1 - 2*n", "1 - 2*n"},
      {"n - n", "0"},
      {"n*0", "0"},
      {"abs(n)", "n"},
      {"abs(n - m)", "abs(n - m)"},
      // A symbol may be 0: nothing cancels.
      {"2*n*m floordiv n", "2*m*n floordiv n"},
      {"n floormod n", "n floormod n"},
      {"n floordiv 0", "n floordiv 0"},
      {"n < n + 1", "true"},
      {"i1 < 5", "true"},
      {"5 <= i1", "false"},
      {"2*n < 2*m + 1", "n <= m"},
      {"5*(n floormod 2) + i1 < 5", "n floormod 2 < 1"},
      {"5*n + i1 < 5*m + 5", "n <= m"},
      {"5*n + i1 < 5*m + 3", "i1 + 5*n <= 5*m + 2"},
      {"n <= m", "n <= m"},
      {"n + 3 < m + 1", "n + 2 < m"},
      {"4*n == 2", "false"},
      {"4*n == 2*m", "m == 2*n"},
      {"n == -1", "false"},
      {"0 <= n && n < 5", "n < 5"},
      {"n < 5 && n < 7", "n < 5"},
      {"n < 5 || n < 7", "n < 7"},
      {"n < 5 && 5 <= n", "false"},
      {"n < 5 || 4 <= n", "true"},
      {"!(n < 5)", "5 <= n"},
      {"!(n < 5 && m < 7)", "5 <= n || 7 <= m"},
      {"n < m && n < m", "n < m"},
      {"!(n == m) && n == m", "false"},
      {"select(n < 5, m, m)", "m"},
      {"select(n < 0, m, n)", "n"},
      {"select(n < m, n, m)", "min(m, n)"},
      {"select(n <= m, m, n)", "max(m, n)"},
      {"select(!(n == m), n, 2)", "select(m == n, 2, n)"},
      {"in0[n - n + i0 + i0, 1 + 1]", "in0[2*i0, 2]"},
      {"in0[i0 + i0]:float32 + 1", "in0[2*i0]:float32 + 1"},
      {"select(i1 < 9, in0[i1]:float32, 0)", "in0[i1]:float32"},
      {"int64(0 <= n)", "1"},
      {"9223372036854775807 - n", "9223372036854775807 - n"},
  };
  for (const auto& [before, after] : rows) {
    const auto expr = parse_expr(before);
    ASSERT_TRUE(expr.ok()) << before << expr.error().message();
    EXPECT_EQ(print(simplify_index(*expr, test::range_of)), after) << before;
  }
}

TEST(Simplify, bounds_see_relations_between_terms) {
  const auto text = [](const std::string& expr) {
    const Interval found = bounds(*parse_expr(expr), test::range_of);
    return (found.low ? std::to_string(*found.low) : "-inf") + " " + (found.high ? std::to_string(*found.high) : "inf");
  };
  EXPECT_EQ(text("n - min(n, 3)"), "0 inf");
  EXPECT_EQ(text("2*(n floordiv 2) - n"), "-1 0");
  EXPECT_EQ(text("n - 3*((n + 2) floordiv 3)"), "-2 0");
  EXPECT_EQ(text("max(n, 4) - n"), "0 4");
  EXPECT_EQ(text("select(n < m, n, m) - n"), "-inf 0");
  EXPECT_EQ(text("n floormod 7 + i1"), "0 10");
  EXPECT_EQ(text("int64(in0[]:uint8)"), "0 255");
  EXPECT_EQ(text("4611686018427387904*n"), "0 inf");
}

TEST(Simplify, deep_sharing_takes_no_longer_than_its_nodes) {
  Expr shared = symbol("n");
  for (int i = 0; i < 40; ++i) shared = floor_div(shared * index(3) + index(1), index(7)) * floor_mod(shared, index(5));
  const Expr simple = simplify_index(shared, test::range_of);
  EXPECT_EQ(simplify_index(simple, test::range_of), simple);
}

}  // namespace
}  // namespace isomer::te
