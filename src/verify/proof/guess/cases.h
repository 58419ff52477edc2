// Guesses at which cases tell whether an element is zero: they are sound whichever are taken. Test:
// tests/verify/element_cases_test.cpp
#pragma once

#include <optional>
#include <set>
#include <string>

#include "verify/proof/element.h"

namespace isomer::verify {

/// A name that is to be a multiple of `by` and a remainder.
struct Division {
  std::string name;
  te::Expr by;
};
/// A bound that an index of its product divides: x by 2 in (4*x + y) floordiv 8.
std::optional<Division> bound_to_cut(const Product& product, const ElementMaker& make);
/// The same of an index that no sum is over, by a few.
std::optional<Division> index_to_cut(const Element& element, const ElementMaker& make);

struct BoundPair {
  std::string quotient, remainder;  ///< names
};
/// Two bounds that indices know as one alone: x and y in 4*x + y, where y goes to 4.
std::optional<BoundPair> bounds_to_join(const Product& product, const ElementMaker& make);

/// Names of bounds of few values each; none where there are none, or too many products would be made.
std::set<std::string> sums_to_write_out(const Element& element);

}  // namespace isomer::verify
