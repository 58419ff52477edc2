// What floating point does to a law (reliability.md 3.2): both sides in float32 at small sizes, over special values and
// random ones. The class that a row declares is refuted where they differ by more than it allows:
//   exact          nothing, but what a NaN carries
//   sign of zero   nothing but that
//   finite         the same, where inputs and all applications on the way are finite
//   reassociated   there, no more than rounding explains: what it can make of the two sides overlaps
//   (rounding_algebra.h); of inputs
//                  of at most 1000 both sides are finite, or neither is
//   unsafe         the former only (softmax without a shift: class E4)
// Tests: tests/verify/float_class_test.cpp
#pragma once

#include "verify/proof/axioms.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::verify {

struct FloatClassCheck {
  bool takes_floats = true;            ///< else it is about bools or integers, which are exact
  int64_t inputs = 0;                  ///< on which both sides were compared
  int64_t bounded = 0, unbounded = 0;  ///< of laws that are reassociated, those that differ: rounding may have no bound
                                       ///< (what it compares decides)
  FloatClass seen = FloatClass::kExact;          ///< the strongest that none of them contradicts
  std::optional<Counterexample> counterexample;  ///< to the declared class
  bool holds() const { return !counterexample && (!takes_floats || (inputs > 0 && (unbounded == 0 || bounded > 0))); }
};

/// Laws of a shape for all on vectors of all tuples of special values (of up to three variables; of one, on all values
/// of float16 too); then on instances that are drawn, `trials` draws of values in all. A law that takes no floats holds
/// where it is declared exact.
FloatClassCheck check_float_class(const Law& law, std::string_view family, FloatClass declared, int trials,
                                  uint64_t seed);

/// The classes that rows declare, on several threads; the same for the same seed.
std::vector<FloatClassCheck> check_float_classes(const std::vector<StatedAxiom>& stated, int trials, uint64_t seed,
                                                 int threads);

}  // namespace isomer::verify
