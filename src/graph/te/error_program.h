// How far a program that is run in doubles may be from what it is over the reals: a program that computes a bound for
// each element. Running error analysis by forward bounds (Wilkinson 1963; Higham 2002, "Accuracy and stability of
// numerical algorithms", 3.3), as a reading of tensor expressions. Test: tests/te/approximate_test.cpp
#pragma once

#include <optional>
#include <span>

#include "graph/te/program.h"
#include "util/result.h"

namespace isomer::te {

/// Each element x of a tensor is at most relative * |x| + absolute away from the real number that it stands for: of
/// the one of two neighbours, or of the one branch, that rounding chose where it did. Not zero then, of integers
/// neither. Infinities are what they are.
struct Distance {
  double relative = 0, absolute = 0;
  bool is_zero() const { return relative == 0 && absolute == 0; }
};

/// What is smaller is no distance that anybody would see.
constexpr double kNegligible = 0x1p-600;

/// Of one output, over the program's own inputs, which are so far from theirs. It gives float64: a bound of each
/// element's distance, zero where doubles hold the very number; of integers zero, infinity, or something negligible
/// where rounding chose. NaN is no bound. Nothing where no element can be off. Errors: an expression of which no bound
/// is known.
Result<std::optional<Program>> error_program(const Program& program, StageValue output,
                                             std::span<const Distance> inputs);

}  // namespace isomer::te
