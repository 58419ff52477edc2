// Terms that are others with their names replaced.
#pragma once

#include "verify/proof/substitute.h"

namespace isomer::verify {

/// Finds what makes the pattern the term; integers that are more than a name are left to substitution, and negative
/// ones, which count from the back. False where nothing does.
bool bind(const Term& pattern, const Term& term, Bindings& bindings);

}  // namespace isomer::verify
