// An instance of a law with names for its sizes: what a proof for all sizes is of. Test:
// tests/verify/law_sizes_test.cpp
#pragma once

#include "verify/proof/equal_sides.h"
#include "verify/proof/refute/law_instances.h"

namespace isomer::verify {

/// Which sizes are free, which equal to others or a multiple or sum of them, is what the types of the instance allow:
/// sizes are moved, alone and together, and where both sides still have one type, the law's condition true, they are
/// names. What is left a number is 1, or stated by an attribute, or `is_general` is false. Ranks and attributes are the
/// instance's.
LawSizes with_sizes(const Law& law, std::string_view family, const LawInstance& instance);
std::string text(const LawSizes& sizes);
/// Whether both sides have one type, numbers having that of what stands beside them.
bool is_typed(const LawInstance& instance);
/// Whether all tensors on the way have elements, as a proof for all sizes says.
bool has_elements(const LawInstance& instance);
/// Whether the instance is what numbers of at least 1 for the names make, for which the facts hold.
bool covers(const LawSizes& sizes, const LawInstance& instance);

}  // namespace isomer::verify
