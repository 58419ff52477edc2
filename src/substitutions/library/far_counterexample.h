// Functions that are alike near zero may differ elsewhere: Clip(Exp(x),0,10) and Exp(x). Sides are compared in doubles,
// with how far these may be from the reals. Test: tests/substitutions/equations_test.cpp
#pragma once

#include <optional>

#include "util/random.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::substitutions {

/// Inputs on which the sides differ by more than rounding may, and all that they compute is finite; nothing where none
/// were found, or no bound of the rounding.
std::optional<verify::Counterexample> far_counterexample(const verify::LawInstance& instance, Random& random);

}  // namespace isomer::substitutions
