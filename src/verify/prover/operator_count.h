// How large terms are.
#pragma once

#include <vector>

#include "verify/proof/term.h"

namespace isomer::verify {

/// Operators, each application counted once however often it stands there; of several terms together.
int operator_count(const std::vector<Term>& terms);

}  // namespace isomer::verify
