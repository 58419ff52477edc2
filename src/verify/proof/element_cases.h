// Other ways to write an element, in which more can be told of it. Test: tests/verify/element_cases_test.cpp
#pragma once

#include "verify/proof/element.h"
#include "verify/proof/guess/cases.h"

namespace isomer::verify {

/// A name below an extent as quotient * by + remainder, `by` being at least 1.
struct Cut {
  te::Expr value;
  Bound quotient, remainder;
  te::Expr condition;  ///< that the value is below the extent; empty where it always is
};
Cut cut_of(const te::Expr& extent, const te::Expr& by, ElementMaker& make);

/// The same sums, a bound cut or two joined where that was guessed; nothing where it never was.
std::optional<Element> with_other_bounds(const Element& element, ElementMaker& make);
/// The same sums, those bounds of constant extents written out that were guessed; nothing where none were.
std::optional<Element> with_sums_written_out(const Element& element, ElementMaker& make);

}  // namespace isomer::verify
