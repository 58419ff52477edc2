// Tensors of real numbers as doubles hold them, with how far they may be from what they stand for. Whoever goes on with
// numbers where reals are meant knows by it whether what comes out is the number, rounded, or what rounding left.
// Test: tests/te/approximate_test.cpp
#pragma once

#include <span>
#include <vector>

#include "graph/te/array.h"
#include "graph/te/error_program.h"
#include "graph/te/interpret.h"
#include "graph/te/rational.h"

namespace isomer::te {

struct Approximate {
  Array value;
  Distance distance;
  /// What the elements stand for, where there are few of them, all rational and not all of them these doubles, and
  /// where these rounded are what runtimes compute: a third of three is one. Else empty.
  std::vector<Rational> exact = {};
};

/// One output of the program for such inputs, which are taken for what they stand for.
Result<Approximate> in_doubles(const Program& program, StageValue output, std::span<const Approximate> inputs);
/// The same, with its distance. An error where that is not known, or where numbers that are far
/// from each other may choose an integer or a branch.
Result<Approximate> approximate(const Program& program, StageValue output, std::span<const Approximate> inputs);

struct RoundedTensor {
  Tensor tensor;
  Distance distance;                 ///< zero: its elements are the real numbers
  std::vector<Rational> exact = {};  ///< as of Approximate
};

/// Rounded once to its type. An error where an element may be further off than 2^-10 of itself, or of half of the
/// elements: it is what rounding left of larger numbers. Types that round by more than that may take twice as much as
/// rounding does.
Result<RoundedTensor> rounded(const Approximate& approximate);

}  // namespace isomer::te
