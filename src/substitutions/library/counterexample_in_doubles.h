// Sides that differ in doubles, whatever rounding does. Test: tests/substitutions/equations_test.cpp
#pragma once

#include <optional>

#include "util/random.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::substitutions {

/// Inputs in [-16, 16] on which the sides differ by more than rounding may, and all that they compute is finite;
/// nothing where none were found, or no bound of the rounding. Functions that are alike near zero may differ there:
/// Clip(Exp(x),0,10) and Exp(x).
std::optional<verify::Counterexample> far_counterexample(const verify::LawInstance& instance, Random& random);

/// Floats in [-2, 2] on which the sides differ, and keep their values where the inputs are moved a little: what
/// rounding decides, as Sign(Log(Exp(x)) - x), does not. Nothing where none were found.
std::optional<verify::Counterexample> stable_counterexample(const verify::LawInstance& instance, Random& random);

}  // namespace isomer::substitutions
