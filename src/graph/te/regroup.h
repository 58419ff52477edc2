// One form for sums and products of floats. Test: tests/te/regroup_test.cpp
#pragma once

#include "graph/te/expr.h"

namespace isomer::te {

/// The expression with its sums and products of floats in one order, however they were grouped: x - y as x + (-y),
/// x / y as x times one over y, x^2 as x·x, x^3 as x·x·x, no zeros and ones. Equal over the reals where both have
/// values; in floats what has one form differs by roundings alone (FloatClass::kReassociated). Integers stay as they
/// are. The expression as a tree should be of some thousand nodes at most.
Expr regrouped(const Expr& expr);

}  // namespace isomer::te
