// What follows for integers: indices, bounds and sizes. By normal forms and linear arithmetic, else an oracle is asked.
#pragma once

#include <vector>

#include "verify/proof/element.h"

namespace isomer::verify {

using Facts = std::vector<te::Expr>;

/// The facts that a bound is within its extent.
void add_range(const Bound& bound, Facts& facts);

class ElementComparison;

/// Who is asked what normal forms do not tell: Z3 (verify/prover/solver_oracle.h) where laws are proved, nobody where
/// proofs are replayed.
class Oracle {
 public:
  virtual ~Oracle() = default;
  /// Whether the condition holds for all integers for which the facts do.
  virtual bool follows(const Facts& facts, const te::Expr& condition, const ElementMaker& make) = 0;
  /// Whether the element is zero wherever the facts hold. `comparison` says which of its sums are the same.
  virtual bool is_zero(const Element& element, const Facts& facts, ElementMaker& make,
                       ElementComparison& comparison) = 0;
  /// It may be asked more.
  virtual bool has_budget() const = 0;
};

class IndexFacts {
 public:
  /// Without an oracle (nullptr) what it would have to tell is not found.
  IndexFacts(Oracle* oracle, const ElementMaker& make) : oracle_(oracle), make_(make) {}

  /// Whether the condition was found to hold for all integers for which the facts do.
  bool follows(const Facts& facts, const te::Expr& condition);
  /// Of index arithmetic, normal forms with the names within their extents: the facts must say so too.
  bool are_equal(const Facts& facts, const te::Expr& a, const te::Expr& b);
  Oracle* oracle() const { return oracle_; }

 private:
  bool can_be_told(const Facts& facts, const te::Expr& opposite) const;
  Oracle* oracle_;
  const ElementMaker& make_;
};

}  // namespace isomer::verify
