// What is called a contradiction is one: no integers of a box make all conditions true. Of those that are contradictory
// there, most are found.
#include "verify/proof/linear_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "util/random.h"

namespace isomer::verify::test {
namespace {

using te::Expr;

constexpr std::array<const char*, 3> kNames = {"a", "b", "c"};
constexpr int64_t kEdge = 7;

Expr name(size_t k) { return te::symbol(kNames[k]); }

/// Index arithmetic over the names: sums, multiples, quotients and remainders by numbers, the smaller of two.
Expr index_of(Random& random, int depth) {
  if (depth == 0 || random.chance(0.3))
    return random.chance(0.7) ? name(random.below(kNames.size())) : te::index(random.between(-5, 9));
  const auto operand = [&] { return index_of(random, depth - 1); };
  switch (random.below(6)) {
    case 0: return operand() + operand();
    case 1: return operand() - operand();
    case 2: return te::index(random.between(-3, 5)) * operand();
    case 3: return te::floor_div(operand(), te::index(random.between(1, 5)));
    case 4: return te::floor_mod(operand(), te::index(random.between(1, 5)));
    default: return random.chance(0.5) ? te::min(operand(), operand()) : te::max(operand(), operand());
  }
}

Expr condition_of(Random& random, int depth) {
  if (depth > 0 && random.chance(0.4)) {
    const Expr left = condition_of(random, depth - 1), right = condition_of(random, depth - 1);
    return random.chance(0.3) ? te::logical_not(left) : random.chance(0.5) ? left && right : left || right;
  }
  const Expr left = index_of(random, 2), right = index_of(random, 1);
  return random.chance(0.4) ? left < right : random.chance(0.5) ? left <= right : te::equal(left, right);
}

Expr at(const Expr& expr, const std::array<int64_t, kNames.size()>& values) {
  return te::transform(expr, [&](const Expr& node) {
    const auto* symbol = te::as<te::Symbol>(node);
    for (size_t k = 0; symbol && k < kNames.size(); ++k)
      if (symbol->name == kNames[k]) return te::index(values[k]);
    return Expr();
  });
}

bool holds_somewhere(const std::vector<Expr>& conditions) {
  for (int64_t a = 0; a < kEdge; ++a)
    for (int64_t b = 0; b < kEdge; ++b)
      for (int64_t c = 0; c < kEdge; ++c)
        if (std::ranges::all_of(conditions,
                                [&](const Expr& each) { return te::as_constant(at(each, {a, b, c})) == 1; }))
          return true;
  return false;
}

TEST(LinearFacts, ContradictionsAreSome) {
  Random random(3);
  int contradictory = 0, found = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<Expr> conditions;
    for (size_t k = 0; k < kNames.size(); ++k) {
      conditions.push_back(te::index(0) <= name(k));
      conditions.push_back(name(k) < te::index(kEdge));
    }
    for (int k = 0; k < 3; ++k) conditions.push_back(condition_of(random, 1));
    const bool is_found = are_contradictory(conditions);
    if (holds_somewhere(conditions)) {
      ASSERT_FALSE(is_found) << trial;
      continue;
    }
    ++contradictory;
    found += is_found;
  }
  EXPECT_GT(contradictory, 300);
  EXPECT_GT(found, contradictory * 8 / 10);
}

TEST(LinearFacts, NumbersThatLeaveTheRangeSayNothing) {
  const Expr a = te::symbol("a"), large = te::index(int64_t{1} << 62);
  EXPECT_FALSE(are_contradictory(std::array{large * a <= large * te::symbol("b"), te::index(2) <= a}));
  EXPECT_TRUE(are_contradictory(std::array{a < te::index(3), te::index(5) < a, large * a < te::index(0)}));
}

}  // namespace
}  // namespace isomer::verify::test
