// Counterexamples made small, for people: fewer elements, then zeros and ones. Test:
// tests/substitutions/equations_test.cpp
#pragma once

#include "substitutions/library/equations.h"
#include "util/random.h"

namespace isomer::substitutions {

/// Where the equation's output of this number still fails, on sizes and values that can't be made smaller one by one;
/// the one given where none of ours is found (in double precision, on small integers). What parameters say in numbers
/// stays.
verify::Counterexample smallest(const StatedEquation& equation, size_t output, verify::Counterexample found,
                                Random& random);

}  // namespace isomer::substitutions
