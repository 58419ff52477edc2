#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "graph/te/simplifier.h"

namespace isomer::te {
namespace {

using Rewritten = std::optional<Polynomial>;

const Binary* binary_atom(const Expr& expr, BinaryOp op) {
  const Binary* e = as<Binary>(expr);
  return e && e->op == op ? e : nullptr;
}
/// The operands of a polynomial that is nothing but one operation `op`.
const Binary* as_operation(const Polynomial& p, BinaryOp op) {
  const Expr* atom = p.single_atom();
  return atom ? binary_atom(*atom, op) : nullptr;
}
/// The operands of a term that is a multiple of one operation `op`.
const Binary* term_operation(const Term& term, BinaryOp op) {
  return term.factors.size() == 1 ? binary_atom(term.factors[0], op) : nullptr;
}
Polynomial of_term(const Term& term) {
  Polynomial result;
  result.terms.push_back(term);
  return result;
}

/// floor(a / c) where the bounds leave one value, for a literal c, or 0 <= a < c.
std::optional<int64_t> decided_quotient(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const Range range = s.range(a);
  if (!c.is_constant()) return range.low >= 0 && s.is_positive(c - a) ? std::optional<int64_t>(0) : std::nullopt;
  if (!range.is_finite()) return std::nullopt;
  const int64_t low = floor_div(range.low, c.constant);
  return low == floor_div(range.high, c.constant) ? std::optional(low) : std::nullopt;
}
Rewritten decided_division(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  if (const auto quotient = decided_quotient(s, a, c)) return Polynomial(*quotient);
  return std::nullopt;
}
Rewritten decided_remainder(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  if (const auto quotient = decided_quotient(s, a, c)) return a - scaled(c, *quotient);
  return std::nullopt;
}

/// a = q*c + r with some multiples of c in it.
std::optional<Division> with_multiples(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  if (!c.is_constant() && !s.is_nonzero(c)) return std::nullopt;
  Division division = divide(a, c);
  if (division.quotient.is(0) || !division.quotient.is_exact()) return std::nullopt;
  if (c.terms.size() + (c.constant != 0) > 1 && division.remainder.terms.size() >= a.terms.size()) return std::nullopt;
  return division;
}
/// (q*c + r) floordiv c = q + r floordiv c
Rewritten divide_multiples(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const auto division = with_multiples(s, a, c);
  if (!division) return std::nullopt;
  return division->quotient + s.combine(BinaryOp::kFloorDiv, division->remainder, c);
}
/// (q*c + r) floormod c = r floormod c
Rewritten drop_multiples(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const auto division = with_multiples(s, a, c);
  if (!division) return std::nullopt;
  return s.combine(BinaryOp::kFloorMod, division->remainder, c);
}

/// a = g*x + r with 0 <= r < g, where g > 1 divides the literal c: r does not reach the quotient.
struct Grain {
  int64_t size;
  Polynomial coarse, fine;
};
std::optional<Grain> split_by_grain(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  if (!c.is_constant()) return std::nullopt;
  std::set<int64_t, std::greater<>> grains;
  for (const Term& term : a.terms) grains.insert(std::gcd(term.coefficient, c.constant));
  for (const int64_t g : grains) {
    if (g == 1) break;
    Polynomial coarse, fine;
    for (const Term& term : a.terms) (term.coefficient % g == 0 ? coarse : fine).terms.push_back(term);
    const Range range = s.range(fine);
    if (!range.is_finite()) continue;
    // The part of the literal that brings the fine part's least value into [0, g).
    const int64_t shift = saturating_sub(floor_mod(saturating_add(a.constant, range.low), g), range.low);
    if (saturating_add(range.high, shift) >= g) continue;
    fine.constant = shift;
    coarse.constant = saturating_sub(a.constant, shift);
    if (!coarse.is_exact() || !fine.is_exact()) continue;
    return Grain{g, exactly_divided(coarse, g), fine};
  }
  return std::nullopt;
}
/// (g*x + r) floordiv (g*d) = x floordiv d
Rewritten divide_grains(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const auto grain = split_by_grain(s, a, c);
  if (!grain) return std::nullopt;
  return s.combine(BinaryOp::kFloorDiv, grain->coarse, exactly_divided(c, grain->size));
}
/// (g*x + r) floormod (g*d) = g*(x floormod d) + r
Rewritten remainder_of_grains(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const auto grain = split_by_grain(s, a, c);
  if (!grain) return std::nullopt;
  return scaled(s.combine(BinaryOp::kFloorMod, grain->coarse, exactly_divided(c, grain->size)), grain->size) +
         grain->fine;
}

/// (x floordiv b + r) floordiv c = (x + b*r) floordiv (b*c) for positive b and c
Rewritten nested_division(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const Term* division = nullptr;
  for (const Term& term : a.terms) {
    if (!term_operation(term, BinaryOp::kFloorDiv)) continue;
    if (division || term.coefficient != 1) return std::nullopt;
    division = &term;
  }
  if (!division) return std::nullopt;
  const Binary* inner = term_operation(*division, BinaryOp::kFloorDiv);
  const Polynomial x = s.polynomial(inner->left), b = s.polynomial(inner->right);
  if (!s.is_positive(b) || !s.is_positive(c)) return std::nullopt;
  const Polynomial numerator = x + b * (a - of_term(*division)), denominator = b * c;
  if (!numerator.is_exact() || !denominator.is_exact()) return std::nullopt;
  return s.combine(BinaryOp::kFloorDiv, numerator, denominator);
}

/// (x floormod (c*d)) floordiv c = (x floordiv c) floormod d
Rewritten division_of_remainder(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  const Binary* inner = as_operation(a, BinaryOp::kFloorMod);
  if (!inner || !s.is_positive(c)) return std::nullopt;
  const Division division = divide(s.polynomial(inner->right), c);
  if (!division.remainder.is(0) || !s.is_positive(division.quotient)) return std::nullopt;
  return s.combine(BinaryOp::kFloorMod, s.combine(BinaryOp::kFloorDiv, s.polynomial(inner->left), c),
                   division.quotient);
}

/// (k*(x floormod d) + r) floormod c = (k*x + r) floormod c where c divides k*d
Rewritten nested_remainder(Simplifier& s, const Polynomial& a, const Polynomial& c) {
  for (const Term& term : a.terms) {
    const Binary* inner = term_operation(term, BinaryOp::kFloorMod);
    if (!inner) continue;
    const Polynomial period = scaled(s.polynomial(inner->right), term.coefficient);
    if (!c.is_constant() && !s.is_nonzero(c)) continue;
    if (!period.is_exact() || !divide(period, c).remainder.is(0)) continue;
    const Polynomial x = scaled(s.polynomial(inner->left), term.coefficient);
    if (s.is_wild(x)) continue;
    return s.combine(BinaryOp::kFloorMod, a - of_term(term) + x, c);
  }
  return std::nullopt;
}

/// C's division is the floor division of magnitudes.
Rewritten truncating_division(Simplifier& s, const Polynomial& a, const Polynomial& b) {
  if (!s.is_nonzero(b)) return std::nullopt;
  const Range r = s.range(a);
  if (r.low < 0 && r.high > 0) return std::nullopt;
  const bool negative_a = r.low < 0, negative_b = !s.is_positive(b);
  const Polynomial quotient =
      s.combine(BinaryOp::kFloorDiv, negative_a ? scaled(a, -1) : a, negative_b ? scaled(b, -1) : b);
  return negative_a != negative_b ? scaled(quotient, -1) : quotient;
}
/// … and its remainder has the sign of the dividend.
Rewritten truncating_remainder(Simplifier& s, const Polynomial& a, const Polynomial& b) {
  if (!s.is_nonzero(b)) return std::nullopt;
  const Range r = s.range(a);
  if (r.low < 0 && r.high > 0) return std::nullopt;
  const Polynomial divisor = s.is_positive(b) ? b : scaled(b, -1);
  if (r.low >= 0) return s.combine(BinaryOp::kFloorMod, a, divisor);
  return scaled(s.combine(BinaryOp::kFloorMod, scaled(a, -1), divisor), -1);
}

void collect_operands(Simplifier& s, BinaryOp op, const Polynomial& p, std::vector<Polynomial>& out) {
  if (const Binary* e = as_operation(p, op)) {
    collect_operands(s, op, s.polynomial(e->left), out);
    collect_operands(s, op, s.polynomial(e->right), out);
  } else {
    out.push_back(p);
  }
}

/// Operands that another one decides are dropped, the rest sorted: min(n, min(4, n + 1)) = min(n, 4), min(n, max(n, 4))
/// = n.
Rewritten extremum(Simplifier& s, const Polynomial& a, const Polynomial& b, BinaryOp op) {
  constexpr size_t kMaxOperands = 16;
  std::vector<Polynomial> all, kept;
  collect_operands(s, op, a, all);
  collect_operands(s, op, b, all);
  const size_t count = all.size();
  const auto loses = [&](const Polynomial& x, const Polynomial& y) {
    const Range limit = s.range(x), other = s.range(y);
    // Beyond saturation lies what is more than any place, and than numbers that are known to be less.
    const bool is_known = !s.is_wild(y) || (op == BinaryOp::kMin ? other.has_high() : other.has_low());
    if (is_known && (op == BinaryOp::kMin ? limit.low >= kSaturated : limit.high <= -kSaturated)) return true;
    std::vector<Polynomial> bounds;
    collect_operands(s, op == BinaryOp::kMin ? BinaryOp::kMax : BinaryOp::kMin, x, bounds);
    if (bounds.size() > 1 && std::find(bounds.begin(), bounds.end(), y) != bounds.end()) return true;
    if (s.may_wrap(x) || s.may_wrap(y)) return x == y;
    if (op == BinaryOp::kMin ? limit.has_low() && other.has_high() && limit.low >= other.high
                             : limit.has_high() && other.has_low() && limit.high <= other.low)
      return true;
    const Range difference = s.range(x - y);
    return op == BinaryOp::kMin ? difference.low >= 0 : difference.high <= 0;
  };
  for (size_t i = 0; i < all.size() && all.size() <= kMaxOperands;) {
    bool lost = false;
    for (size_t j = 0; j < all.size() && !lost; ++j) lost = i != j && loses(all[i], all[j]);
    if (lost)
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  if (all.size() == 1) return all[0];
  std::vector<Expr> operands;
  for (const Polynomial& p : all) operands.push_back(to_expr(p));
  const bool reordered =
      !std::is_sorted(operands.begin(), operands.end(), [](const Expr& x, const Expr& y) { return order(x, y) < 0; });
  const bool flattened = as_operation(b, op) != nullptr;
  if (all.size() == count && !reordered && !flattened) return std::nullopt;
  std::sort(operands.begin(), operands.end(), [](const Expr& x, const Expr& y) { return order(x, y) < 0; });
  Expr result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = binary(op, result, operands[i]);
  return Polynomial::atom(result);
}
Rewritten minimum_of_operands(Simplifier& s, const Polynomial& a, const Polynomial& b) {
  return extremum(s, a, b, BinaryOp::kMin);
}
Rewritten maximum_of_operands(Simplifier& s, const Polynomial& a, const Polynomial& b) {
  return extremum(s, a, b, BinaryOp::kMax);
}

bool contains(const Polynomial& sum, const Polynomial& part) {
  return std::all_of(part.terms.begin(), part.terms.end(), [&](const Term& term) {
    const Term* found = sum.find(term.factors);
    return found && found->coefficient == term.coefficient;
  });
}

/// m*c*(x floordiv c) + m*(x floormod c) = m*x
Rewritten division_and_remainder(Simplifier& s, const Polynomial& sum) {
  for (const Term& term : sum.terms) {
    const Binary* remainder = term_operation(term, BinaryOp::kFloorMod);
    if (!remainder) continue;
    const Polynomial x = s.polynomial(remainder->left), c = s.polynomial(remainder->right);
    if (!s.is_nonzero(c)) continue;
    const Polynomial quotient = s.combine(BinaryOp::kFloorDiv, x, c);
    const Polynomial part = scaled(c * quotient, term.coefficient);
    if (part.is_constant() || !part.is_exact() || !contains(sum, part)) continue;
    return sum - of_term(term) - part + scaled(x, term.coefficient);
  }
  return std::nullopt;
}

/// m*c*(x floordiv c floormod d) + m*(x floormod c) = m*(x floormod c*d), for c > 0 and d > 0
Rewritten remainders_of_digits(Simplifier& s, const Polynomial& sum) {
  for (const Term& term : sum.terms) {
    const Binary* low = term_operation(term, BinaryOp::kFloorMod);
    const auto c = low ? as_constant(low->right) : std::nullopt;
    if (!c || *c <= 0) continue;
    const Polynomial x = s.polynomial(low->left);
    const Polynomial quotient = s.combine(BinaryOp::kFloorDiv, x, Polynomial(*c));
    for (const Term& other : sum.terms) {
      const Binary* high = term_operation(other, BinaryOp::kFloorMod);
      const auto d = high ? as_constant(high->right) : std::nullopt;
      if (!d || *d <= 0 || other.coefficient != saturating_mul(term.coefficient, *c) ||
          s.polynomial(high->left) != quotient)
        continue;
      const int64_t period = saturating_mul(*c, *d);
      if (period >= kSaturated) continue;
      return sum - of_term(term) - of_term(other) +
             scaled(s.combine(BinaryOp::kFloorMod, x, Polynomial(period)), term.coefficient);
    }
  }
  return std::nullopt;
}

/// k*x - k*c*(x floordiv c) = k*(x floormod c)
Rewritten difference_from_multiple(Simplifier& s, const Polynomial& sum) {
  for (const Term& term : sum.terms) {
    const Binary* division = term_operation(term, BinaryOp::kFloorDiv);
    const auto c = division ? as_constant(division->right) : std::nullopt;
    if (!c || *c <= 0 || term.coefficient % *c != 0) continue;
    const int64_t k = -(term.coefficient / *c);
    const Polynomial x = s.polynomial(division->left);
    const Polynomial part = scaled(x, k);
    if (!part.is_exact() || !contains(sum, part)) continue;
    return sum - of_term(term) - part + scaled(s.combine(BinaryOp::kFloorMod, x, Polynomial(*c)), k);
  }
  return std::nullopt;
}

}  // namespace

const std::vector<OperationRule>& operation_rules() {
  static const std::vector<OperationRule> rules = {
      {"decided division", BinaryOp::kFloorDiv, decided_division},
      {"divide multiples", BinaryOp::kFloorDiv, divide_multiples},
      {"divide grains", BinaryOp::kFloorDiv, divide_grains},
      {"nested division", BinaryOp::kFloorDiv, nested_division},
      {"division of remainder", BinaryOp::kFloorDiv, division_of_remainder},
      {"decided remainder", BinaryOp::kFloorMod, decided_remainder},
      {"drop multiples", BinaryOp::kFloorMod, drop_multiples},
      {"remainder of grains", BinaryOp::kFloorMod, remainder_of_grains},
      {"nested remainder", BinaryOp::kFloorMod, nested_remainder},
      {"truncating division", BinaryOp::kDiv, truncating_division},
      {"truncating remainder", BinaryOp::kTruncMod, truncating_remainder},
      {"minimum", BinaryOp::kMin, minimum_of_operands},
      {"maximum", BinaryOp::kMax, maximum_of_operands},
  };
  return rules;
}

const std::vector<SumRule>& sum_rules() {
  static const std::vector<SumRule> rules = {
      {"division and remainder", division_and_remainder},
      {"remainders of digits", remainders_of_digits},
      {"difference from multiple", difference_from_multiple},
  };
  return rules;
}

}  // namespace isomer::te
