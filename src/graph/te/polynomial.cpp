#include "graph/te/polynomial.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "graph/te/integer.h"
#include "util/check.h"

namespace isomer::te {
namespace {

/// A product of sums with more terms than this stays a product.
constexpr size_t kMaxExpandedTerms = 64;
constexpr int kMaxDivisionSteps = 64;

std::strong_ordering order_lists(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), order);
}

std::strong_ordering order_numbers(const Number& a, const Number& b) {
  if (a.kind() != b.kind()) return a.kind() <=> b.kind();
  if (a.exponent() != b.exponent()) return a.exponent() <=> b.exponent();
  if (a.denominator() != b.denominator()) return a.denominator() <=> b.denominator();
  return a.numerator() < b.numerator()   ? std::strong_ordering::less
         : b.numerator() < a.numerator() ? std::strong_ordering::greater
                                         : std::strong_ordering::equal;
}

/// Graded lexicographic: a monomial order, so that division ends.
std::strong_ordering order_factors(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return b.size() <=> a.size();
  return order_lists(a, b);
}

bool precedes(const Term& a, const Term& b) { return order_factors(a.factors, b.factors) < 0; }

std::vector<Expr> merge_factors(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  std::vector<Expr> result(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), result.begin(),
             [](const Expr& x, const Expr& y) { return order(x, y) < 0; });
  return result;
}

/// a + factor * b
Polynomial add_scaled(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial result(saturating_add(a.constant, saturating_mul(b.constant, factor)));
  result.terms.reserve(a.terms.size() + b.terms.size());
  const auto push = [&](const Term& term, int64_t coefficient) {
    if (coefficient != 0) result.terms.push_back({coefficient, term.factors});
  };
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const auto which = x == a.terms.end()   ? std::strong_ordering::greater
                       : y == b.terms.end() ? std::strong_ordering::less
                                            : order_factors(x->factors, y->factors);
    if (which < 0) {
      result.terms.push_back(*x++);
    } else if (which > 0) {
      push(*y, saturating_mul(y->coefficient, factor));
      ++y;
    } else {
      push(*x, saturating_add(x->coefficient, saturating_mul(y->coefficient, factor)));
      ++x, ++y;
    }
  }
  return result;
}

/// Takes the common coefficient, sign and factors out of a sum of several terms; what is left becomes one more factor.
Term as_product(const Polynomial& a) {
  Term product = a.terms.front();
  int64_t common = std::abs(a.constant);
  for (const Term& term : a.terms) {
    common = std::gcd(common, term.coefficient);
    std::vector<Expr> shared;
    std::set_intersection(product.factors.begin(), product.factors.end(), term.factors.begin(), term.factors.end(),
                          std::back_inserter(shared), [](const Expr& x, const Expr& y) { return order(x, y) < 0; });
    product.factors = a.constant == 0 ? shared : std::vector<Expr>();
  }
  product.coefficient = a.terms.front().coefficient < 0 ? -common : common;
  Polynomial rest(a.constant / product.coefficient);
  for (const Term& term : a.terms) {
    Term left{term.coefficient / product.coefficient, {}};
    std::set_difference(term.factors.begin(), term.factors.end(), product.factors.begin(), product.factors.end(),
                        std::back_inserter(left.factors), [](const Expr& x, const Expr& y) { return order(x, y) < 0; });
    if (left.factors.empty())
      rest.constant = saturating_add(rest.constant, left.coefficient);
    else
      rest.terms.push_back(std::move(left));
  }
  std::sort(rest.terms.begin(), rest.terms.end(), precedes);
  product.factors = merge_factors(product.factors, {to_expr(rest)});
  return product;
}

Polynomial times_term(const Polynomial& a, const Term& term) {
  Polynomial result;
  for (const Term& t : a.terms)
    result.terms.push_back({saturating_mul(t.coefficient, term.coefficient), merge_factors(t.factors, term.factors)});
  if (a.constant != 0) result.terms.push_back({saturating_mul(a.constant, term.coefficient), term.factors});
  std::sort(result.terms.begin(), result.terms.end(), precedes);
  return result;
}

/// term / by, when it is a multiple.
std::optional<Term> quotient(const Term& term, const Term& by) {
  if (term.coefficient % by.coefficient != 0) return std::nullopt;
  Term result{term.coefficient / by.coefficient, {}};
  const auto less = [](const Expr& x, const Expr& y) { return order(x, y) < 0; };
  if (!std::includes(term.factors.begin(), term.factors.end(), by.factors.begin(), by.factors.end(), less))
    return std::nullopt;
  std::set_difference(term.factors.begin(), term.factors.end(), by.factors.begin(), by.factors.end(),
                      std::back_inserter(result.factors), less);
  return result;
}

Polynomial single(Term term) {
  if (term.factors.empty()) return Polynomial(term.coefficient);
  Polynomial result;
  result.terms.push_back(std::move(term));
  return result;
}

Expr product_of(int64_t coefficient, const std::vector<Expr>& factors) {
  Expr result = coefficient == 1 ? factors[0] : coefficient == -1 ? -factors[0] : index(coefficient) * factors[0];
  for (size_t i = 1; i < factors.size(); ++i) result = result * factors[i];
  return result;
}

}  // namespace

std::strong_ordering order(const Expr& a, const Expr& b) {
  if (a == b) return std::strong_ordering::equal;
  if (a->body.index() != b->body.index()) return a->body.index() <=> b->body.index();
  if (a.dtype() != b.dtype()) return a.dtype() <=> b.dtype();
  const auto same = [&]<class T>(const T&) -> const T& { return std::get<T>(b->body); };
  return visit(
      a, [&](const Literal& x) { return order_numbers(x.value, same(x).value); },
      [&](const Var& x) { return x.kind != same(x).kind ? x.kind <=> same(x).kind : x.index <=> same(x).index; },
      [&](const Symbol& x) { return x.name.compare(same(x).name) <=> 0; },
      [&](const Unary& x) { return x.op != same(x).op ? x.op <=> same(x).op : order(x.operand, same(x).operand); },
      [&](const Binary& x) {
        if (x.op != same(x).op) return x.op <=> same(x).op;
        const auto left = order(x.left, same(x).left);
        return left != 0 ? left : order(x.right, same(x).right);
      },
      [&](const Select& x) {
        const Select& y = same(x);
        return order_lists({x.condition, x.then, x.otherwise}, {y.condition, y.then, y.otherwise});
      },
      [&](const Cast& x) { return order(x.operand, same(x).operand); },
      [&](const Load& x) {
        const BufferRef &p = x.buffer, &q = same(x).buffer;
        if (p.kind != q.kind) return p.kind <=> q.kind;
        if (p.index != q.index) return p.index <=> q.index;
        if (p.component != q.component) return p.component <=> q.component;
        return order_lists(x.index, same(x).index);
      });
}

Polynomial Polynomial::atom(Expr expr) { return single({1, {std::move(expr)}}); }

const Expr* Polynomial::single_atom() const {
  const bool one = constant == 0 && terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1;
  return one ? &terms[0].factors[0] : nullptr;
}

const Term* Polynomial::find(const std::vector<Expr>& factors) const {
  for (const Term& term : terms)
    if (term.factors == factors) return &term;
  return nullptr;
}

bool Polynomial::is_exact() const {
  return std::abs(constant) < kSaturated &&
         std::all_of(terms.begin(), terms.end(), [](const Term& t) { return std::abs(t.coefficient) < kSaturated; });
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) { return add_scaled(a, b, 1); }
Polynomial operator-(const Polynomial& a, const Polynomial& b) { return add_scaled(a, b, -1); }

Polynomial scaled(const Polynomial& a, int64_t factor) { return add_scaled({}, a, factor); }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (a.is_constant()) return scaled(b, a.constant);
  if (b.is_constant()) return scaled(a, b.constant);
  const auto size = [](const Polynomial& p) { return p.terms.size() + (p.constant != 0); };
  if (size(a) > 1 && size(b) > 1 && size(a) * size(b) > kMaxExpandedTerms) {
    const Term x = as_product(a), y = as_product(b);
    return single({saturating_mul(x.coefficient, y.coefficient), merge_factors(x.factors, y.factors)});
  }
  Polynomial result = scaled(a, b.constant);
  for (const Term& term : b.terms) result = result + times_term(a, term);
  return result;
}

Polynomial exactly_divided(const Polynomial& a, int64_t divisor) {
  Polynomial result = a;
  result.constant /= divisor;
  for (Term& term : result.terms) term.coefficient /= divisor;
  return result;
}

Division divide(const Polynomial& a, const Polynomial& b) {
  Division result{{}, a};
  if (b.is_constant()) {
    CHECK(b.constant != 0);
    result.quotient.constant = floor_div(a.constant, b.constant);
    result.remainder = Polynomial(floor_mod(a.constant, b.constant));
    for (const Term& term : a.terms) {
      if (term.coefficient % b.constant == 0)
        result.quotient.terms.push_back({term.coefficient / b.constant, term.factors});
      else
        result.remainder.terms.push_back(term);
    }
    return result;
  }
  const Term& lead = b.terms[0];
  for (int step = 0; step < kMaxDivisionSteps; ++step) {
    std::optional<Term> multiple;
    for (const Term& term : result.remainder.terms) {
      multiple = quotient(term, lead);
      if (multiple) break;
    }
    if (!multiple) break;
    const Polynomial part = single(*multiple);
    result.quotient = result.quotient + part;
    result.remainder = result.remainder - part * b;
  }
  return result;
}

Expr to_expr(const Polynomial& polynomial) {
  Expr result;
  const auto add = [&](const Expr& part) { result = result ? result + part : part; };
  for (const Term& term : polynomial.terms)
    if (term.coefficient > 0) add(product_of(term.coefficient, term.factors));
  if (polynomial.constant > 0) add(index(polynomial.constant));
  for (const Term& term : polynomial.terms) {
    if (term.coefficient >= 0) continue;
    result = result ? result - product_of(-term.coefficient, term.factors) : product_of(term.coefficient, term.factors);
  }
  if (polynomial.constant < 0) result = result ? result - index(-polynomial.constant) : index(polynomial.constant);
  return result ? result : index(0);
}

}  // namespace isomer::te
