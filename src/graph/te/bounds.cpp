#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "graph/te/simplifier.h"

namespace isomer::te {
namespace {

int64_t low_sum(int64_t a, int64_t b) {
  return a == -kSaturated || b == -kSaturated ? -kSaturated : saturating_add(a, b);
}
int64_t high_sum(int64_t a, int64_t b) {
  return a == kSaturated || b == kSaturated ? kSaturated : saturating_add(a, b);
}
Range sum(const Range& a, const Range& b) { return {low_sum(a.low, b.low), high_sum(a.high, b.high)}; }
Range negated(const Range& a) { return {-a.high, -a.low}; }

Range hull(std::initializer_list<int64_t> values) { return {std::min(values), std::max(values)}; }
Range product(const Range& a, const Range& b) {
  return hull({saturating_mul(a.low, b.low), saturating_mul(a.low, b.high), saturating_mul(a.high, b.low),
               saturating_mul(a.high, b.high)});
}

Range united(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range intersected(const Range& a, const Range& b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

int64_t divided(int64_t a, int64_t b) {
  if (std::abs(a) != kSaturated) return floor_div(a, b);
  return (a < 0) == (b < 0) ? kSaturated : -kSaturated;
}

/// Of floor(a / b), b of one sign.
Range floor_quotient(const Range& a, const Range& b) {
  if (b.low <= 0 && b.high >= 0) return {};
  return hull({divided(a.low, b.low), divided(a.low, b.high), divided(a.high, b.low), divided(a.high, b.high)});
}

Range floor_remainder(const Range& a, const Range& b) {
  const int64_t most = high_sum(b.high, -1);
  if (b.low > 0) return {0, a.low >= 0 ? std::min(a.high, most) : most};
  if (b.high < 0) return {low_sum(b.low, 1), 0};
  return {};
}

Range trunc_remainder(const Range& a, const Range& b) {
  if (b.low <= 0 && b.high >= 0) return {};
  const int64_t limit = high_sum(std::max(std::abs(b.low), std::abs(b.high)), -1);
  return {a.low >= 0 ? 0 : std::max(-limit, a.low), a.high <= 0 ? 0 : std::min(limit, a.high)};
}

Range range_of_type(DataType dtype) {
  if (dtype == DataType::kBool) return {0, 1};
  const int bits = value_bits(dtype);
  if (!is_computable(dtype) || is_float(dtype) || bits == 64) return {};
  if (!is_signed_int(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

Range as_range(const Interval& interval) {
  return {std::max(interval.low.value_or(-kSaturated), -kSaturated),
          std::min(interval.high.value_or(kSaturated), kSaturated)};
}

}  // namespace

bool Simplifier::is_nonzero(const Polynomial& p) {
  const Range r = range(p);
  return r.low > 0 || r.high < 0;
}

bool Simplifier::is_wild(const Polynomial& p) {
  if (of_ != Of::kData) return false;
  bool are_finite = true;
  for (const Term& term : p.terms)
    for (const Expr& each : term.factors) {
      if (is_wild(each)) return true;
      are_finite = are_finite && range(each).is_finite();
    }
  return are_finite && !range_of_terms(p).is_finite();
}

bool Simplifier::is_wild(const Expr& atom) {
  if (as<Var>(atom) || as<Symbol>(atom)) return false;
  if (const auto known = wild_.find(&*atom); known != wild_.end()) return known->second.second;
  const auto is_sum = [&] {
    const Binary* e = as<Binary>(atom);
    return e && (e->op == BinaryOp::kAdd || e->op == BinaryOp::kSub || e->op == BinaryOp::kMul);
  };
  const auto has_wild = [&] {
    const std::vector<Expr> children = detail::children(atom);
    return std::any_of(children.begin(), children.end(), [&](const Expr& child) {
      return child.dtype() == DataType::kInt64 && is_wild(polynomial(child));
    });
  };
  // Literals here are beyond saturation, and so are sums that are atoms.
  const bool result = !range(atom).is_finite() && (as<Literal>(atom) || is_sum() || has_load(atom) || has_wild());
  wild_.emplace(&*atom, std::pair(atom, result));
  return result;
}

Range Simplifier::range(const Polynomial& polynomial) {
  if (may_wrap(polynomial)) return {};
  const Range terms = range_of_terms(polynomial);
  if (polynomial.terms.size() < 2 || case_depth_ >= kMaxCases) return terms;
  return intersected(terms, range_by_cases(polynomial));
}

Range Simplifier::range_of_terms(const Polynomial& polynomial) {
  Range total{polynomial.constant, polynomial.constant};
  for (const Term& term : polynomial.terms) {
    Range factor{term.coefficient, term.coefficient};
    for (const Expr& f : term.factors) factor = product(factor, range(f));
    total = sum(total, factor);
  }
  return total;
}

/// Looks into the first atom that relates to other terms: x - min(x, y) >= 0, n - 2*(n floordiv 2) <= 1.
Range Simplifier::range_by_cases(const Polynomial& polynomial) {
  for (const Term& term : polynomial.terms) {
    if (term.factors.size() != 1) continue;
    const int64_t k = term.coefficient;
    const auto rest = [&] { return polynomial - scaled(Polynomial::atom(term.factors[0]), k); };
    ++case_depth_;
    std::optional<Range> found;
    if (const Select* e = as<Select>(term.factors[0])) {
      found = united(range(rest() + scaled(this->polynomial(e->then), k)),
                     range(rest() + scaled(this->polynomial(e->otherwise), k)));
    } else if (const Binary* e = as<Binary>(term.factors[0])) {
      if (e->op == BinaryOp::kMin || e->op == BinaryOp::kMax) {
        const Range a = range(rest() + scaled(this->polynomial(e->left), k));
        const Range b = range(rest() + scaled(this->polynomial(e->right), k));
        const bool least = (e->op == BinaryOp::kMin) == (k > 0);
        found = least ? Range{std::min(a.low, b.low), std::min(a.high, b.high)}
                      : Range{std::max(a.low, b.low), std::max(a.high, b.high)};
      } else if (const auto c = as_constant(e->right); e->op == BinaryOp::kFloorDiv && c && *c > 0) {
        // c * (rest + k * (x floordiv c)) = c * rest + k * x - k * (x floormod c)
        const Polynomial whole = scaled(rest(), *c) + scaled(this->polynomial(e->left), k);
        if (whole.is_exact()) {
          const int64_t slack = saturating_mul(k, *c - 1);
          const Range times_c = sum(range(whole), hull({-slack, 0}));
          found = {times_c.has_low() ? ceil_div(times_c.low, *c) : -kSaturated,
                   times_c.has_high() ? floor_div(times_c.high, *c) : kSaturated};
        }
      }
    }
    --case_depth_;
    if (found) return *found;
  }
  return {};
}

/// Of a result: it may have wrapped where it is one of data beyond saturation.
Range Simplifier::known(const Range& range) const { return of_ == Of::kPlaces || range.is_finite() ? range : Range(); }

Range Simplifier::range(const Expr& expr) {
  auto& remembered = ranges_of_atoms_[case_depth_];
  if (const auto found = remembered.find(&*expr); found != remembered.end()) return found->second.second;
  const Range result = visit(
      expr,
      [&](const Literal&) {
        const int64_t value = std::clamp(as_constant(expr).value_or(0), -kSaturated, kSaturated);
        return Range{value, value};
      },
      [&](const Var&) { return range_of_leaf(expr); }, [&](const Symbol&) { return range_of_leaf(expr); },
      [&](const Unary& e) {
        if (e.op == UnaryOp::kNeg) return known(negated(range(e.operand)));
        if (e.op != UnaryOp::kAbs) return Range();
        const Range r = range(polynomial(e.operand));
        // The least number of all has none that is its opposite.
        if (!r.has_low() && is_wild(polynomial(e.operand))) return Range();
        return r.low >= 0 ? r : Range{std::max<int64_t>({0, r.low, -r.high}), std::max(-r.low, r.high)};
      },
      [&](const Binary& e) { return range_of_binary(e); },
      [&](const Select& e) { return united(range(e.then), range(e.otherwise)); },
      [&](const Cast& e) { return range_of_type(e.operand.dtype()); },
      [&](const Load&) { return range_of_leaf(expr); });
  remembered.emplace(&*expr, std::pair(expr, result));
  return result;
}

Range Simplifier::range_of_binary(const Binary& e) {
  if (e.left.dtype() != DataType::kInt64) return range_of_type(DataType::kBool);
  switch (e.op) {
    case BinaryOp::kAdd: return known(range(polynomial(e.left) + polynomial(e.right)));
    case BinaryOp::kSub: return known(range(polynomial(e.left) - polynomial(e.right)));
    case BinaryOp::kMul: return known(product(range(e.left), range(e.right)));
    case BinaryOp::kFloorDiv: return known(floor_quotient(range(polynomial(e.left)), range(polynomial(e.right))));
    case BinaryOp::kFloorMod: return floor_remainder(range(polynomial(e.left)), range(polynomial(e.right)));
    case BinaryOp::kTruncMod: return trunc_remainder(range(polynomial(e.left)), range(polynomial(e.right)));
    case BinaryOp::kDiv: {
      const Range a = range(polynomial(e.left)), b = range(polynomial(e.right));
      const Range down = floor_quotient(a, b), up = negated(floor_quotient(negated(a), b));
      return known(united(down, up));
    }
    case BinaryOp::kMin: {
      const Range a = range(polynomial(e.left)), b = range(polynomial(e.right));
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    case BinaryOp::kMax: {
      const Range a = range(polynomial(e.left)), b = range(polynomial(e.right));
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: return {0, 1};
    case BinaryOp::kPow:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return {};
  }
  return {};
}

Range Simplifier::range_of_leaf(const Expr& leaf) {
  const Range known = ranges_ ? as_range(ranges_(leaf)) : Range();
  return as<Symbol>(leaf) ? intersected(known, {0, kSaturated}) : known;
}

Interval bounds(const Expr& expr, const Ranges& ranges) {
  Simplifier simplifier(ranges);
  const Range range = simplifier.range(simplifier.polynomial(expr));
  return {range.has_low() ? std::optional(range.low) : std::nullopt,
          range.has_high() ? std::optional(range.high) : std::nullopt};
}

}  // namespace isomer::te
