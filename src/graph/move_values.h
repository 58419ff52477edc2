// Rounding at random: what a model gives when each of its floats lands on another neighbour than the nearest one. Where
// its outputs differ between such runs, rounding decides them, and no two runtimes need agree (stochastic arithmetic:
// Vignes 1993, CADNA; Parker 1997).
#pragma once

#include <cstdint>

#include "graph/te/array.h"
#include "graph/te/program.h"
#include "util/random.h"

namespace isomer {

struct RandomRounding {
  uint64_t seed = 0;
  /// How far a value is moved before it is rounded: at most this many halves of its last place.
  double half_ulps = 1;
  /// The other way than with false: of two such runs one goes where a decision flips, if either does.
  bool opposite = false;
};

/// Moves each float that its type has no number for, then rounds it; of float64 the last eight bits count as beyond the
/// type. What is exact in every runtime stays: whole numbers, copies of values that were rounded before.
void move_elements(te::Array& array, const RandomRounding& movement, Random& random);

/// An input, whose numbers its type has: each goes to one nearby, except for multiples of a quarter, such as pixels,
/// counts and masks.
te::Array moved_input(const te::Array& array, const RandomRounding& movement, Random& random);

/// What an operator computes on its way, moved too: exp(x) in Elu's exp(x) - 1, which is small where rounding it is
/// not, 1 + erf(x) in Gelu. Functions that no runtime computes exactly are meant, and sums and products of them, in the
/// stages of a program that are maps or reductions; what a stage gives in the end is left to move_elements. And what is
/// rounded to quantized numbers where they were made of such: QLinearConv, QLinearAdd; and what a program itself rounds
/// to a narrower type at its end.
void move_inside(te::Program& program, const RandomRounding& movement, Random& random);

/// What an operator makes in many steps, each of which goes on from the one before, rounded to its type in each of
/// them, as every runtime has it: states of scans (running sums, recurrences), elements that updates add to.
void round_inside(te::Program& program);

}  // namespace isomer
