#include "graph/te/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "graph/te/program.h"
#include "te/random_expr.h"

namespace isomer::te {
namespace {

struct Printed {
  Expr expr;
  std::string text;
};

const Expr n = symbol("n");
const Expr x = load({BufferRef::Kind::kInput, 0, 0}, DataType::kFloat32, {axis(0), axis(1) + n});
const Expr flag = load({BufferRef::Kind::kStage, 2, 1}, DataType::kBool, {});
Expr real(Number value) { return literal(value, DataType::kFloat32); }

const std::vector<Printed>& table() {
  static const std::vector<Printed> rows = {
      {index(-3), "-3"},
      {-index(3), "-(3)"},
      {truth(true), "true"},
      {literal(2, DataType::kBool), "2:bool"},
      {real(Number::fraction(1, 2)), "1/2:float32"},
      {real(Number::infinity(true)), "-inf:float32"},
      {real(Number::nan()), "nan:float32"},
      {literal(Number::from_unsigned(~uint64_t{0}), DataType::kUInt64), "18446744073709551615:uint64"},
      {x, "in0[i0, i1 + n]:float32"},
      {flag, "s2.1[]:bool"},
      {x * Number(0.5), "in0[i0, i1 + n]:float32*1/2"},
      {Number(1) / x, "1 / in0[i0, i1 + n]:float32"},
      {real(1) / real(2), "1:float32 / 2"},
      {index(1) / index(0), "1 / 0"},
      {n - (n - index(1)), "n - (n - 1)"},
      {(n + index(1)) * n, "(n + 1)*n"},
      {-(n * index(2)), "-(n*2)"},
      {-n * index(2), "-n*2"},
      {n - index(-2), "n - -2"},
      {floor_mod(floor_div(n, index(4)), index(2)), "n floordiv 4 floormod 2"},
      {floor_div(n, floor_mod(n, index(2))), "n floordiv (n floormod 2)"},
      {min(max(n, index(0)), index(7)), "min(max(n, 0), 7)"},
      {min(real(1), real(2)), "min(1:float32, 2)"},
      {select(flag && (n < index(3) || index(0) <= n), x, real(0)),
       "select(s2.1[]:bool && (n < 3 || 0 <= n), in0[i0, i1 + n]:float32, 0)"},
      {logical_not(flag), "!s2.1[]:bool"},
      {equal(equal(n, index(2)), flag), "(n == 2) == s2.1[]:bool"},
      {binary(BinaryOp::kOr, n, binary(BinaryOp::kXor, n, binary(BinaryOp::kAnd, n, index(6)))), "n | n ^ n & 6"},
      {binary(BinaryOp::kShiftLeft, n, index(2)) + index(1), "(n << 2) + 1"},
      {pow(x, real(2)), "pow(in0[i0, i1 + n]:float32, 2)"},
      {cast(DataType::kInt8, x), "int8(in0[i0, i1 + n]:float32)"},
      {unary(UnaryOp::kIsNan, real(1)), "isnan(1:float32)"},
      {operand(VarKind::kLeft, 1, DataType::kFloat16), "left1:float16"},
      {operand(VarKind::kRight, 0, DataType::kInt64), "right0"},
      {time_step(), "t0"},
      {loop_var(3), "k3"},
      {load_local(1, DataType::kInt64, {index(0)}), "local1[0]"},
      {load_state(0, DataType::kFloat64, {}), "state0[]:float64"},
      {load_inner(4, DataType::kInt64, {}), "inner4[]"},
      {symbol("i0"), "\"i0\""},
      {symbol("min"), "\"min\""},
      {symbol(""), "\"\""},
      {symbol("past + 1"), "\"past + 1\""},
      {symbol("\"\\\n\xff%s{}"), "\"\\\"\\\\\\x0a\\xff%s{}\""},
      {symbol("input"), "input"},
      {symbol("in"), "in"},
  };
  return rows;
}

TEST(Print, writes_what_parse_reads) {
  for (const Printed& row : table()) {
    EXPECT_EQ(print(row.expr), row.text);
    const auto parsed = parse_expr(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text << "\n" << parsed.error().message();
    EXPECT_EQ(*parsed, row.expr) << row.text << " was read as " << print(*parsed);
  }
}

TEST(Print, random_expressions_round_trip) {
  Random random(7);
  for (int i = 0; i < 5'000; ++i) {
    const Expr expr = random.chance(0.3) ? test::random_condition(random, 4) : test::random_index(random, 5);
    const auto parsed = parse_expr(print(expr));
    ASSERT_TRUE(parsed.ok()) << print(expr) << "\n" << parsed.error().message();
    ASSERT_EQ(*parsed, expr) << print(expr);
  }
}

TEST(Parse, decimals_are_fractions) {
  const std::pair<const char*, Number> rows[] = {{"0.5", Number::fraction(1, 2)},
                                                 {"-0.75", Number::fraction(-3, 4)},
                                                 {"1.67", Number::fraction(167, 100)},
                                                 {"00.10", Number::fraction(1, 10)},
                                                 {"1e3", Number(1000)},
                                                 {"2.5e+1", Number(25)},
                                                 {"1e-6", Number::fraction(1, 1'000'000)},
                                                 {"18446744073709551616e-64", Number()}};
  for (const auto& [text, value] : rows) {
    const auto parsed = parse_expr(std::string(text) + ":float32");
    if (value == Number()) {
      EXPECT_FALSE(parsed.ok()) << text;
      continue;
    }
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(as<Literal>(*parsed)->value, value) << text;
  }
  Number most;
  ASSERT_TRUE(Number::parse("3.4028235e38", most));
  EXPECT_EQ(static_cast<float>(most.to_double()), std::numeric_limits<float>::max());
  for (const char* text : {"1.5/2", "1.", "1e", "1e99", "0.5p3p", "1.2.3", "123456789012345678901234567890.1234567890"})
    EXPECT_FALSE(Number::parse(text, most)) << text;
}

TEST(Parse, mistakes_are_sentences) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "column 1: expected an expression, found the end"},
      {"n +", "column 4: expected an expression, found the end"},
      {"n n", "column 3: expected an operator or the end, found \"n\""},
      {"in0[i0, true]", "column 13: expected an int64 index, found bool"},
      {"n + 1:float32", "column 14: the operands of + have types int64 and float32"},
      {"select(n, 1, 2)", "column 16: the condition of select is not bool"},
      {"n +\n )", "line 2, column 2: expected an expression, found \")\""},
      {"min(1)", "column 6: expected \",\", found \")\""},
      {"in0[1]:string", "column 8: expected a computable type, found \"string\""},
      {"for", "column 1: expected an expression, found \"for\""},
      {"1/0", "column 1: expected a number, found \"1/0\""},
      {std::string(100'000, '('), "the expression is nested too deeply"},
      {std::string(100'000, '-') + "1", "nested too deeply"},
      {std::string("\0n", 2), "column 1: expected an expression, found \"\\x00\""},
  };
  for (const auto& [text, message] : rows) {
    const auto parsed = parse_expr(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message(), testing::HasSubstr(message));
  }
}

TEST(Parse, never_crashes_on_scrambled_text) {
  Random random(11);
  for (int i = 0; i < 10'000; ++i) {
    std::string text = print(test::random_index(random, 4));
    for (uint64_t edits = random.below(4); edits-- > 0;) {
      const size_t at = random.below(text.size());
      text = random.chance(0.5) ? text.erase(at, 1) : text.insert(at, 1, "()[],:.\"\\0p/-<&ix"[random.below(17)]);
      if (text.empty()) break;
    }
    const auto parsed = parse_expr(text);
    if (parsed.ok()) {
      ASSERT_EQ(*parse_expr(print(*parsed)), *parsed) << text;
    }
  }
}

}  // namespace
}  // namespace isomer::te
