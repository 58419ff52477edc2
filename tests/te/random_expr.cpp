#include "te/random_expr.h"

#include <cstdlib>
#include <map>
#include <memory>

#include "graph/te/integer.h"
#include "graph/te/print.h"

namespace isomer::te::test {
namespace {

constexpr int64_t kExtents[] = {1, 5, 12};

}  // namespace

Interval range_of(const Expr& leaf) {
  if (const Var* v = as<Var>(leaf)) return {0, v->kind == VarKind::kReduce ? 6 : kExtents[v->index] - 1};
  if (const Symbol* s = as<Symbol>(leaf)) return {s->name == "m" ? 1 : 0, std::nullopt};
  return {};
}

Expr random_index(Random& random, int depth) {
  if (depth <= 0 || random.chance(0.1)) {
    switch (random.below(4)) {
      case 0: return index(random.between(-8, 8));
      case 1: return symbol(random.chance(0.5) ? "n" : "m");
      case 2: return reduce_axis(0);
      default: return axis(static_cast<int>(random.below(3)));
    }
  }
  const auto sub = [&] { return random_index(random, depth - 1 - static_cast<int>(random.below(2))); };
  const auto divisor = [&] {
    return random.chance(0.8) ? index(random.between(random.chance(0.2) ? -6 : 1, 12)) : sub();
  };
  switch (random.below(15)) {
    case 0:
    case 1:
    case 2: return sub() + sub();
    case 3:
    case 4: return sub() - sub();
    case 5: return sub() * index(random.between(-4, 12));
    case 6: return sub() * sub();
    case 7:
    case 8: return floor_div(sub(), divisor());
    case 9:
    case 10: return floor_mod(sub(), divisor());
    case 11: return min(sub(), sub());
    case 12: return max(sub(), sub());
    case 13: return random.chance(0.5) ? sub() / divisor() : binary(BinaryOp::kTruncMod, sub(), divisor());
    default: return random.chance(0.3) ? abs(sub()) : select(random_condition(random, depth - 1), sub(), sub());
  }
}

Expr random_condition(Random& random, int depth) {
  const auto sub = [&] { return random_index(random, depth - 1); };
  const auto both = [&] { return random_condition(random, depth - 1); };
  switch (random.below(depth > 0 ? 6 : 3)) {
    case 0: return sub() < sub();
    case 1: return sub() <= sub();
    case 2: return equal(sub(), sub());
    case 3: return both() && both();
    case 4: return both() || both();
    default: return logical_not(both());
  }
}

Binding random_binding(Random& random) {
  auto values = std::make_shared<std::map<std::string, int64_t>>();
  auto own = std::make_shared<Random>(random.next());
  return [=](const Expr& leaf) {
    const auto [at, is_new] = values->emplace(print(leaf), 0);
    const Interval range = range_of(leaf);
    if (is_new) at->second = own->between(range.low.value_or(0), range.high.value_or(own->chance(0.5) ? 4 : 40));
    return at->second;
  };
}

std::optional<int64_t> value_of(const Expr& expr, const Binding& leaf) {
  const auto of = [&](const Expr& e) { return value_of(e, leaf); };
  return visit(
      expr, [&](const Literal& e) -> std::optional<int64_t> { return e.value.to_int64(); },
      [&](const Var&) -> std::optional<int64_t> { return leaf(expr); },
      [&](const Symbol&) -> std::optional<int64_t> { return leaf(expr); },
      [&](const Unary& e) -> std::optional<int64_t> {
        const auto x = of(e.operand);
        if (!x) return x;
        if (e.op == UnaryOp::kNeg) return -*x;
        if (e.op == UnaryOp::kAbs) return std::abs(*x);
        return !*x;
      },
      [&](const Binary& e) -> std::optional<int64_t> {
        const auto a = of(e.left), b = of(e.right);
        if (!a || !b) return std::nullopt;
        const bool divides = e.op == BinaryOp::kDiv || e.op == BinaryOp::kTruncMod || e.op == BinaryOp::kFloorDiv ||
                             e.op == BinaryOp::kFloorMod;
        if (divides && *b == 0) return std::nullopt;
        int64_t result = 0;
        switch (e.op) {
          case BinaryOp::kAdd: result = saturating_add(*a, *b); break;
          case BinaryOp::kSub: result = saturating_sub(*a, *b); break;
          case BinaryOp::kMul: result = saturating_mul(*a, *b); break;
          case BinaryOp::kDiv: result = *a / *b; break;
          case BinaryOp::kTruncMod: result = *a % *b; break;
          case BinaryOp::kFloorDiv: result = floor_div(*a, *b); break;
          case BinaryOp::kFloorMod: result = floor_mod(*a, *b); break;
          case BinaryOp::kMin: result = std::min(*a, *b); break;
          case BinaryOp::kMax: result = std::max(*a, *b); break;
          case BinaryOp::kAnd: result = *a && *b; break;
          case BinaryOp::kOr: result = *a || *b; break;
          case BinaryOp::kEqual: result = *a == *b; break;
          case BinaryOp::kLess: result = *a < *b; break;
          case BinaryOp::kLessEqual: result = *a <= *b; break;
          default: return std::nullopt;
        }
        return std::abs(result) < (int64_t{1} << 50) ? std::optional(result) : std::nullopt;
      },
      [&](const Select& e) -> std::optional<int64_t> {
        const auto c = of(e.condition);
        return !c ? c : of(*c ? e.then : e.otherwise);
      },
      [&](const Cast&) -> std::optional<int64_t> { return std::nullopt; },
      [&](const Load&) -> std::optional<int64_t> { return std::nullopt; });
}

}  // namespace isomer::te::test
