// Whether two elements are equal, whatever the data and the sizes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "verify/proof/index_facts.h"

namespace isomer::verify {

class ElementComparison {
 public:
  ElementComparison(ElementMaker& make, IndexFacts& facts) : make_(make), facts_(facts) {}

  /// Whether they are for all integers for which the facts hold; these say that indices are within their extents. False
  /// where that was not found. First products that are the same but for the order and names of what they sum over go,
  /// under each case that conditions make; what is left over is put to the oracle.
  bool are_equal(const Element& a, const Element& b, const Facts& facts);
  /// Without regard to coefficients.
  bool are_same(const Product& a, const Product& b, const Facts& facts);
  bool are_same(const FactorRef& a, const FactorRef& b, const Facts& facts);

 private:
  /// Indices that are to be equal.
  using Pairs = std::vector<std::pair<te::Expr, te::Expr>>;

  bool is_zero(const Element& element, const Facts& facts);
  Element without_same(const Element& element, const Facts& facts);
  std::optional<Element> narrowed(const Element& element, const Facts& facts);
  std::optional<Element> narrowed(const Product& product, const Facts& inside, const Facts& facts);
  bool is_among(const Piece& piece, const std::vector<Piece>& pieces, const Facts& facts);
  bool are_same_when_paired(const Product& a, const Product& b, const std::vector<size_t>& partners,
                            const Facts& facts);
  std::optional<Replacement> solution(const Pairs& pairs, const std::vector<Bound>& bounds,
                                      const std::vector<Bound>& others) const;
  bool solve(const te::Expr& difference, const std::vector<Bound>& bounds, Replacement& names) const;
  std::optional<te::Expr> slope(const te::Expr& expr, const std::string& name) const;
  Replacement first_of(const std::vector<Bound>& bounds, const Facts& conditions) const;
  Replacement last_of(const std::vector<Bound>& bounds) const;
  bool is_one_to_one(const Replacement& names, const std::vector<Bound>& others) const;
  bool hold(const Facts& facts, const Facts& conditions);

  ElementMaker& make_;
  IndexFacts& facts_;
  int depth_ = 0;
};

}  // namespace isomer::verify
