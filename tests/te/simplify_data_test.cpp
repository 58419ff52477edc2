// Elements are numbers of 64 bits that wrap: what simplifies them may not take them for places.
#include <gtest/gtest.h>

#include <limits>

#include "graph/te/integer_algebra.h"
#include "graph/te/print.h"
#include "graph/te/simplify.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::te {
namespace {

constexpr int kInputs = 3;
constexpr int64_t kLeastNumber = std::numeric_limits<int64_t>::min(), kMostNumber = std::numeric_limits<int64_t>::max();
constexpr int64_t kNumbers[] = {
    kLeastNumber,     kLeastNumber + 1, -(int64_t{1} << 62) - 5, -(int64_t{1} << 62), -7,         -1, 0, 1, 2,
    int64_t{1} << 40, int64_t{1} << 62, (int64_t{1} << 62) + 5,  kMostNumber - 1,     kMostNumber};

int64_t any_number(Random& random) {
  return random.chance(0.5) ? kNumbers[random.below(std::size(kNumbers))] : random.between(-9, 9);
}

Expr element(int input) { return load({BufferRef::Kind::kInput, input, 0}, DataType::kInt64, {axis(0)}); }

Expr random_condition(Random& random, int depth);

Expr random_element(Random& random, int depth) {
  if (depth <= 0 || random.chance(0.1))
    return random.chance(0.4) ? index(any_number(random)) : element(static_cast<int>(random.below(kInputs)));
  const auto sub = [&] { return random_element(random, depth - 1 - static_cast<int>(random.below(2))); };
  const auto divisor = [&] { return random.chance(0.7) ? index(random.between(-6, 12)) : sub(); };
  switch (random.below(12)) {
    case 0: return sub() + sub();
    case 1: return sub() - sub();
    case 2: return sub() * index(any_number(random));
    case 3: return sub() * sub();
    case 4: return floor_div(sub(), divisor());
    case 5: return floor_mod(sub(), divisor());
    case 6: return binary(BinaryOp::kTruncMod, sub(), divisor());
    case 7: return sub() / divisor();
    case 8: return min(sub(), sub());
    case 9: return max(sub(), sub());
    case 10: return random.chance(0.5) ? abs(sub()) : -sub();
    default: return select(random_condition(random, depth - 1), sub(), sub());
  }
}

Expr random_condition(Random& random, int depth) {
  const auto sub = [&] { return random_element(random, depth - 1); };
  switch (random.below(depth > 0 ? 6 : 3)) {
    case 0: return sub() < sub();
    case 1: return sub() <= sub();
    case 2: return equal(sub(), sub());
    case 3: return random_condition(random, depth - 1) && random_condition(random, depth - 1);
    case 4: return random_condition(random, depth - 1) || random_condition(random, depth - 1);
    default: return logical_not(random_condition(random, depth - 1));
  }
}

/// Nothing where it divides by zero.
std::optional<int64_t> value_of(const Expr& expr, const std::vector<int64_t>& inputs) {
  const auto of = [&](const Expr& e) { return value_of(e, inputs); };
  return visit(
      expr, [&](const Literal& e) -> std::optional<int64_t> { return e.value.to_int64(); },
      [&](const Var&) -> std::optional<int64_t> { return 0; },
      [&](const Symbol&) -> std::optional<int64_t> { return std::nullopt; },
      [&](const Unary& e) -> std::optional<int64_t> {
        const auto x = of(e.operand);
        return x ? std::optional(apply_integer(e.op, expr.dtype(), *x)) : x;
      },
      [&](const Binary& e) -> std::optional<int64_t> {
        const auto a = of(e.left), b = of(e.right);
        const bool divides = e.op == BinaryOp::kDiv || e.op == BinaryOp::kTruncMod || e.op == BinaryOp::kFloorDiv ||
                             e.op == BinaryOp::kFloorMod;
        if (!a || !b || (divides && *b == 0)) return std::nullopt;
        return apply_integer(e.op, e.left.dtype(), *a, *b);
      },
      [&](const Select& e) -> std::optional<int64_t> {
        const auto c = of(e.condition);
        return c ? of(*c ? e.then : e.otherwise) : c;
      },
      [&](const Cast&) -> std::optional<int64_t> { return std::nullopt; },
      [&](const Load& e) -> std::optional<int64_t> { return inputs[static_cast<size_t>(e.buffer.index)]; });
}

TEST(SimplifyData, KeepsEveryNumberOf64Bits) {
  const int count = isomer::test::is_long_run() ? 2'000'000 : 50'000;
  Random random(1);
  int64_t compared = 0, shorter = 0;
  for (int i = 0; i < count; ++i) {
    const Expr expr = random.chance(0.3) ? random_condition(random, 3) : random_element(random, 4);
    const Expr simple = simplify_data(expr);
    shorter += node_count(simple, 1'000) < node_count(expr, 1'000);
    for (int j = 0; j < 12; ++j) {
      std::vector<int64_t> inputs;
      for (int k = 0; k < kInputs; ++k) inputs.push_back(any_number(random));
      const auto expected = value_of(expr, inputs);
      if (!expected) continue;
      ++compared;
      ASSERT_EQ(value_of(simple, inputs), expected) << print(expr) << "\nbecame " << print(simple) << "\nat "
                                                    << inputs[0] << " " << inputs[1] << " " << inputs[2];
    }
  }
  EXPECT_GT(compared, 100'000);
  EXPECT_GT(shorter, 1'000);
}

TEST(SimplifyData, KnowsIndicesFromData) {
  const Expr x = element(0);
  // A place is no more than memory has.
  const Expr at = load({BufferRef::Kind::kInput, 1, 0}, DataType::kInt64, {floor_div(x * 4 + 3, index(4))});
  EXPECT_EQ(simplify_data(at), load({BufferRef::Kind::kInput, 1, 0}, DataType::kInt64, {x}));
  const Expr divided = floor_div(x * 4 + 3, index(4));
  EXPECT_NE(simplify_data(divided), x);
  EXPECT_EQ(simplify_index(divided), x);
  EXPECT_EQ(simplify_data(x + 3 - x), index(3));
  EXPECT_EQ(simplify_data(equal(x + 1, x)), truth(false));
  EXPECT_NE(simplify_data(x < x + 1), truth(true));
}

}  // namespace
}  // namespace isomer::te
