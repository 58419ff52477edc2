// Whether two elements are equal, whatever the data and the sizes.
#pragma once

#include <optional>
#include <vector>

#include "verify/proof/guess/pairing.h"
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
  bool is_zero(const Element& element, const Facts& facts);
  bool is_zero_by_cases(const Element& element, const Facts& facts);
  Element without_same(const Element& element, const Facts& facts);
  std::optional<Element> narrowed(const Element& element, const Facts& facts);
  std::optional<Element> narrowed(const Product& product, const Facts& inside, const Facts& facts);
  bool is_among(const Piece& piece, const std::vector<Piece>& pieces, const Facts& facts);
  bool are_same_when_paired(const Product& a, const Product& b, const Pairing& partners, const Facts& facts);
  bool is_one_to_one(const Replacement& names, const std::vector<Bound>& others) const;
  bool hold(const Facts& facts, const Facts& conditions);

  ElementMaker& make_;
  IndexFacts& facts_;
  int depth_ = 0;
};

}  // namespace isomer::verify
