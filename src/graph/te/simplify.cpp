#include "graph/te/simplify.h"

#include <algorithm>
#include <numeric>

#include "graph/te/simplifier.h"

namespace isomer::te {
namespace {

/// Conditions with more parts than this are only sorted: comparing all pairs would take too long.
constexpr size_t kMaxCompared = 16;

bool is_order(const Binary& e) { return e.op == BinaryOp::kLess || e.op == BinaryOp::kLessEqual; }

/// The value of a literal of any type that is an integer below saturation.
std::optional<int64_t> small_integer(const Expr& expr) {
  const auto value = as_constant(expr);
  if (!value || !(as<Literal>(expr)->value == Number(*value))) return std::nullopt;
  return *value > -kSaturated && *value < kSaturated ? value : std::nullopt;
}

/// By itself.
Polynomial operation(BinaryOp op, const Polynomial& a, const Polynomial& b) {
  const Expr made = binary(op, to_expr(a), to_expr(b));
  const auto value = small_integer(made);
  return value ? Polynomial(*value) : Polynomial::atom(made);
}

void flatten(BinaryOp op, const Expr& expr, std::vector<Expr>& out) {
  const Binary* e = as<Binary>(expr);
  if (e && e->op == op) {
    flatten(op, e->left, out);
    flatten(op, e->right, out);
  } else {
    out.push_back(expr);
  }
}

}  // namespace

Expr Simplifier::simplify(const Expr& expr) {
  if (expr.dtype() == DataType::kInt64) return to_expr(polynomial(expr));
  if (const auto known = others_.find(&*expr); known != others_.end()) return known->second.second;
  Expr result = expr.dtype() == DataType::kBool ? condition(expr) : rebuilt(expr);
  others_.emplace(&*expr, std::pair(expr, result));
  return result;
}

Polynomial Simplifier::polynomial(const Expr& expr) {
  if (as<Symbol>(expr) || as<Var>(expr)) return Polynomial::atom(expr);
  if (const auto known = polynomials_.find(&*expr); known != polynomials_.end()) return known->second.second;
  Polynomial result = read(expr);
  // Keeps the nodes of what is in normal form already, so that comparing ends at equal pointers.
  if (const Expr* atom = result.single_atom(); atom && *atom == expr) result = Polynomial::atom(expr);
  polynomials_.emplace(&*expr, std::pair(expr, result));
  return result;
}

Polynomial Simplifier::read(const Expr& expr) {
  return visit(
      expr,
      [&](const Literal&) {
        // Beyond saturation a literal is a thing of its own.
        const auto value = small_integer(expr);
        return value ? Polynomial(*value) : Polynomial::atom(expr);
      },
      [&](const Var&) { return Polynomial::atom(expr); }, [&](const Symbol&) { return Polynomial::atom(expr); },
      [&](const Unary& e) {
        if (e.op == UnaryOp::kNeg) return scaled(polynomial(e.operand), -1);
        Polynomial operand = polynomial(e.operand);
        if (e.op == UnaryOp::kAbs && !may_wrap(operand)) {
          const Range r = range(operand);
          if (r.low >= 0) return operand;
          if (r.high <= 0) return scaled(operand, -1);
        }
        return Polynomial::atom(unary(e.op, to_expr(operand)));
      },
      [&](const Binary& e) { return read_binary(e); },
      [&](const Select& e) {
        const Expr chosen = selection(e);
        return as<Select>(chosen) ? Polynomial::atom(chosen) : polynomial(chosen);
      },
      [&](const Cast&) {
        const Expr simple = rebuilt(expr);
        const auto value = small_integer(as<Cast>(simple)->operand);
        return value ? Polynomial(*value) : Polynomial::atom(simple);
      },
      [&](const Load&) { return Polynomial::atom(rebuilt(expr)); });
}

Polynomial Simplifier::read_binary(const Binary& e) {
  const Polynomial a = polynomial(e.left), b = polynomial(e.right);
  Polynomial result;
  switch (e.op) {
    case BinaryOp::kAdd: result = a + b; break;
    case BinaryOp::kSub: result = a - b; break;
    case BinaryOp::kMul: result = a * b; break;
    default: return combine(e.op, a, b);
  }
  // Coefficients of data are numbers of 64 bits, too.
  if (of_ == Of::kData && !result.is_exact()) return operation(e.op, a, b);
  return rewrite_sum(std::move(result));
}

Polynomial Simplifier::combine(BinaryOp op, const Polynomial& a, const Polynomial& b) {
  if (a.is_constant() && b.is_constant()) {
    const Expr folded = binary(op, index(a.constant), index(b.constant));
    if (const auto value = as_constant(folded)) return Polynomial(*value);
    return Polynomial::atom(folded);
  }
  const bool divides = op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
  if (divides && b.is(1)) return op == BinaryOp::kFloorDiv ? a : Polynomial(0);
  const bool is_extremum = op == BinaryOp::kMin || op == BinaryOp::kMax;
  if ((is_wild(a) || is_wild(b)) && !is_extremum) return operation(op, a, b);
  if (divides && b.is_constant() && b.constant < 0) {
    const Polynomial mirrored = combine(op, scaled(a, -1), scaled(b, -1));
    return op == BinaryOp::kFloorDiv ? mirrored : scaled(mirrored, -1);
  }
  if (!(divides && b.is(0)) && a.is_exact() && b.is_exact()) {
    for (const OperationRule& rule : operation_rules()) {
      if (rule.op != op) continue;
      if (auto rewritten = rule.apply(*this, a, b); rewritten && rewritten->is_exact()) {
        if (on_rule) on_rule(rule.name);
        return rewrite_sum(std::move(*rewritten));
      }
    }
  }
  return operation(op, a, b);
}

Polynomial Simplifier::rewrite_sum(Polynomial sum) {
  const auto is_division = [](const Term& term) {
    const Binary* e = term.factors.size() == 1 ? as<Binary>(term.factors[0]) : nullptr;
    return e && (e->op == BinaryOp::kFloorDiv || e->op == BinaryOp::kFloorMod);
  };
  for (bool changed = true; changed;) {
    changed = false;
    if (sum.terms.size() < 2 || std::none_of(sum.terms.begin(), sum.terms.end(), is_division)) break;
    for (const SumRule& rule : sum_rules()) {
      auto rewritten = rule.apply(*this, sum);
      if (!rewritten) continue;
      if (on_rule) on_rule(rule.name);
      sum = std::move(*rewritten);
      changed = true;
      break;
    }
  }
  return sum;
}

Expr Simplifier::rebuilt(const Expr& expr) {
  std::vector<Expr> children = detail::children(expr);
  bool changed = false;
  const bool says_places = of_ == Of::kData && as<Load>(expr);
  if (says_places && !places_) places_ = std::make_unique<Simplifier>(ranges_);
  for (Expr& child : children) {
    Expr simple = says_places ? places_->simplify(child) : simplify(child);
    changed |= !(simple == child);
    child = std::move(simple);
  }
  return changed ? detail::with_children(expr, std::move(children)) : expr;
}

Expr Simplifier::selection(const Select& e) {
  const Expr condition = simplify(e.condition);
  if (const auto value = as_constant(condition)) return simplify(*value ? e.then : e.otherwise);
  Expr then = simplify(e.then), otherwise = simplify(e.otherwise);
  if (then == otherwise) return then;
  if (const Unary* negated = as<Unary>(condition); negated && negated->op == UnaryOp::kNot)
    return te::select(negated->operand, otherwise, then);
  if (const auto m = then.dtype() == DataType::kInt64 ? margin(condition) : std::nullopt) {
    const Polynomial a = polynomial(then), b = polynomial(otherwise), difference = b - a;
    if (*m == difference || *m == difference - Polynomial(1)) return to_expr(combine(BinaryOp::kMin, a, b));
    const Polynomial opposite = a - b;
    if (*m == opposite || *m == opposite - Polynomial(1)) return to_expr(combine(BinaryOp::kMax, a, b));
  }
  return te::select(condition, then, otherwise);
}

Expr Simplifier::condition(const Expr& expr) {
  if (const Binary* e = as<Binary>(expr)) {
    if (e->left.dtype() == DataType::kInt64) {
      const Polynomial a = polynomial(e->left), b = polynomial(e->right);
      if (is_wild(a) || is_wild(b)) return wild_comparison(e->op, a, b);
      // Over integers a <= b is a < b + 1.
      return comparison(e->op, rewrite_sum(e->op == BinaryOp::kLessEqual ? a - b - Polynomial(1) : a - b));
    }
    if (e->left.dtype() == DataType::kBool && (e->op == BinaryOp::kAnd || e->op == BinaryOp::kOr))
      return connective(e->op, simplify(e->left), simplify(e->right));
  }
  if (const Unary* e = as<Unary>(expr); e && e->op == UnaryOp::kNot) return negation(simplify(e->operand));
  if (const Select* e = as<Select>(expr)) return selection(*e);
  return rebuilt(expr);
}

/// Of numbers that may be any, or sums of such: decided where both sides are one number, or where neither is a sum and
/// their ranges say so.
Expr Simplifier::wild_comparison(BinaryOp op, const Polynomial& a, const Polynomial& b) {
  if (a == b) return truth(op != BinaryOp::kLess);
  const Polynomial difference = a - b;
  if (op == BinaryOp::kEqual && difference.is_constant() && difference.is_exact()) return truth(difference.is(0));
  if (!may_wrap(a) && !may_wrap(b)) {
    const Range x = range(a), y = range(b);
    const bool is_less = x.has_high() && y.has_low() && x.high < y.low;
    const bool is_greater = x.has_low() && y.has_high() && x.low > y.high;
    if (is_less || is_greater) return truth(op != BinaryOp::kEqual && is_less);
  }
  Expr left = to_expr(a), right = to_expr(b);
  if (op == BinaryOp::kEqual && order(right, left) < 0) std::swap(left, right);
  return binary(op, left, right);
}

/// q where the difference is g * q + r for some g > 1 and 0 <= r < g: it is negative where q is.
std::optional<Polynomial> Simplifier::deciding_quotient(const Polynomial& difference) {
  for (const Term& whole : difference.terms) {
    const int64_t divisor = whole.coefficient < 0 ? -whole.coefficient : whole.coefficient;
    if (divisor == 1) continue;
    Polynomial multiple, rest;
    for (const Term& term : difference.terms) (term.coefficient % divisor == 0 ? multiple : rest).terms.push_back(term);
    if (rest.terms.empty()) continue;
    rest.constant = floor_mod(difference.constant, divisor);
    multiple.constant = difference.constant - rest.constant;
    const Range r = range(rest);
    if (r.low >= 0 && r.high < divisor) return exactly_divided(multiple, divisor);
  }
  return std::nullopt;
}

/// difference == 0 or difference < 0, with positive terms on the left and what is subtracted on the right.
Expr Simplifier::comparison(BinaryOp op, const Polynomial& difference) {
  const Range r = range(difference);
  if (op == BinaryOp::kEqual) {
    if (r.low > 0 || r.high < 0) return truth(false);
    if (difference.is(0)) return truth(true);
  } else if (r.low >= 0 || r.high < 0) {
    return truth(r.high < 0);
  }
  if (op != BinaryOp::kEqual)
    if (const auto quotient = deciding_quotient(difference)) return comparison(op, *quotient);
  int64_t common = 0;
  for (const Term& term : difference.terms) common = std::gcd(common, term.coefficient);
  if (op == BinaryOp::kEqual && difference.constant % common != 0) return truth(false);
  const int64_t literal = floor_div(difference.constant, common);
  const bool flip = op == BinaryOp::kEqual && difference.terms[0].coefficient < 0;
  Polynomial left, right;
  for (const Term& term : difference.terms) {
    const int64_t coefficient = (flip ? -term.coefficient : term.coefficient) / common;
    if (coefficient > 0)
      left.terms.push_back({coefficient, term.factors});
    else
      right.terms.push_back({-coefficient, term.factors});
  }
  if (op == BinaryOp::kEqual) {
    const int64_t signed_literal = flip ? -literal : literal;
    (signed_literal > 0 && !right.is_constant() ? left : right).constant =
        signed_literal > 0 && !right.is_constant() ? signed_literal : -signed_literal;
    return te::equal(to_expr(left), to_expr(right));
  }
  // left + literal < right
  if (right.is_constant()) return to_expr(left) < index(-literal);
  if (left.is_constant()) return index(literal + 1) <= to_expr(right);
  if (literal >= 0) return to_expr(left + Polynomial(literal)) < to_expr(right);
  return to_expr(left) <= to_expr(right + Polynomial(-literal - 1));
}

/// A comparison of indices as margin >= 0: b - a - 1 for a < b.
std::optional<Polynomial> Simplifier::margin(const Expr& part) {
  const Binary* e = as<Binary>(part);
  if (!e || !is_order(*e) || e->left.dtype() != DataType::kInt64) return std::nullopt;
  const Polynomial left = polynomial(e->left), right = polynomial(e->right);
  if (is_wild(left) || is_wild(right)) return std::nullopt;
  const Polynomial difference = right - left;
  return e->op == BinaryOp::kLess ? difference - Polynomial(1) : difference;
}

Expr Simplifier::negation(const Expr& simplified) {
  if (const Unary* e = as<Unary>(simplified); e && e->op == UnaryOp::kNot) return e->operand;
  if (const Binary* e = as<Binary>(simplified)) {
    if (is_order(*e) && e->left.dtype() == DataType::kInt64)
      return simplify(binary(e->op == BinaryOp::kLess ? BinaryOp::kLessEqual : BinaryOp::kLess, e->right, e->left));
    if (e->left.dtype() == DataType::kBool && (e->op == BinaryOp::kAnd || e->op == BinaryOp::kOr))
      return connective(e->op == BinaryOp::kAnd ? BinaryOp::kOr : BinaryOp::kAnd, negation(e->left),
                        negation(e->right));
  }
  return logical_not(simplified);
}

/// And, Or of simplified conditions: sorted, without what the others imply.
Expr Simplifier::connective(BinaryOp op, const Expr& left, const Expr& right) {
  const bool conjunction = op == BinaryOp::kAnd;
  std::vector<Expr> parts;
  flatten(op, left, parts);
  flatten(op, right, parts);
  std::sort(parts.begin(), parts.end(), [](const Expr& a, const Expr& b) { return order(a, b) < 0; });
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());

  std::vector<bool> dropped(parts.size(), false);
  for (size_t i = 0; i < parts.size() && parts.size() <= kMaxCompared; ++i) {
    const auto x = margin(parts[i]);
    for (size_t j = 0; j < parts.size(); ++j) {
      if (i == j || dropped[j] || dropped[i]) continue;
      if (parts[j] == negation(parts[i])) return truth(!conjunction);
      const auto y = x ? margin(parts[j]) : std::nullopt;
      if (!y) continue;
      const Range sum = range(*x + *y), difference = range(*x - *y);
      // x >= 0 and y >= 0 with x + y < 0; not x and not y (both <= -1) with x + y > -2.
      if (conjunction ? sum.high < 0 : sum.low > -2) return truth(!conjunction);
      // In a conjunction the greater margin is implied, in a disjunction the smaller one implies.
      dropped[conjunction ? i : j] = difference.low >= 0;
    }
  }
  Expr result;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!dropped[i]) result = result ? binary(op, result, parts[i]) : parts[i];
  return result;
}

namespace {

void count_nodes(const Expr& expr, int64_t limit, int64_t& count) {
  if (++count >= limit) return;
  for (const Expr& child : detail::children(expr))
    if (count < limit) count_nodes(child, limit, count);
}

}  // namespace

int64_t node_count(const Expr& expr, int64_t limit) {
  int64_t count = 0;
  count_nodes(expr, limit, count);
  return count;
}

Expr simplify_index(const Expr& expr, const Ranges& ranges) {
  const bool is_place = expr.dtype() == DataType::kInt64;
  return Simplifier(ranges, is_place ? Simplifier::Of::kPlaces : Simplifier::Of::kData).simplify(expr);
}

Expr simplify_data(const Expr& expr, const Ranges& ranges) {
  return Simplifier(ranges, Simplifier::Of::kData).simplify(expr);
}

}  // namespace isomer::te
