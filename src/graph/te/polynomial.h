// The normal form of index arithmetic: a literal plus a sum of coefficient * product of atoms, in one fixed order. An
// atom is any int64 expression that is not itself a sum, a product or a literal (a sum too, where expanding would
// explode).
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "graph/te/expr.h"

namespace isomer::te {

/// A total order on expressions that is the same in every run and on every machine: iterators, symbols by name, the
/// rest.
std::strong_ordering order(const Expr& a, const Expr& b);

/// coefficient * factors[0] * factors[1] * …; the factors sorted, at least one.
struct Term {
  int64_t coefficient = 1;
  std::vector<Expr> factors;
  bool operator==(const Term&) const = default;
};

struct Polynomial {
  int64_t constant = 0;
  /// Higher degrees first, then by `order` of the factors; no two with the same factors, no coefficient 0.
  std::vector<Term> terms;

  Polynomial() = default;
  Polynomial(int64_t value) : constant(value) {}
  static Polynomial atom(Expr expr);

  bool is_constant() const { return terms.empty(); }
  bool is(int64_t value) const { return terms.empty() && constant == value; }
  /// The expression of a polynomial that is one atom, else nullptr.
  const Expr* single_atom() const;
  /// The term with these factors, or nullptr.
  const Term* find(const std::vector<Expr>& factors) const;
  /// False where a coefficient or the literal ran into saturation: its value can't be trusted.
  bool is_exact() const;
  bool operator==(const Polynomial&) const = default;
};

Polynomial operator+(const Polynomial& a, const Polynomial& b);
Polynomial operator-(const Polynomial& a, const Polynomial& b);
Polynomial operator*(const Polynomial& a, const Polynomial& b);
Polynomial scaled(const Polynomial& a, int64_t factor);
/// a / divisor for a divisor of every coefficient and the literal.
Polynomial exactly_divided(const Polynomial& a, int64_t divisor);

/// a = quotient * b + remainder, no term of the remainder a multiple of b's first term. For a literal b > 0 the
/// remainder's literal is in [0, b). b must not be the literal 0.
struct Division {
  Polynomial quotient, remainder;
};
Division divide(const Polynomial& a, const Polynomial& b);

/// Positive terms first, then the literal when positive, then what is subtracted: "2*n + 1 - m".
Expr to_expr(const Polynomial& polynomial);

}  // namespace isomer::te
