// Whether two values have the same elements, read off the tensor expressions of the nodes that make them: an expression
// over elements of common values is the same in normal form, or the nodes' programs are the same. Test:
// tests/substitutions/proof_test.cpp
#pragma once

#include <span>

#include "graph/op_def.h"
#include "verify/proof/ledger.h"

namespace isomer::verify {

/// How exactly they are the same. Pointwise nodes are followed down from both, but not below the values of `over`; of a
/// value that is equal to one of `through`, that one's node.
/// Errors, kMismatch: it can't be seen that they are.
Result<FloatClass> same_elements(const Ledger& ledger, int first, int second, std::span<const int> over,
                                 std::span<const int> through);

}  // namespace isomer::verify
