// Is a law true where it is used? Both sides of an instance are evaluated at small sizes: over the rationals, where the
// operators have rational values; else over the prime field, in which functions like exp are arbitrary ones (DESIGN.md,
// section 5); what is not true of arbitrary functions may be of those that are meant, in double precision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/proof/refute/law_instances.h"

namespace isomer::verify {

/// Where a law fails: the instance, its inputs and what both sides give, as text.
struct Counterexample {
  LawInstance instance;
  std::vector<std::string> inputs;  ///< "x: float32[2] = {1, -1/2}"
  std::string left, right;
  std::string text() const;
};

/// What inputs are drawn from.
struct DrawnInputs {
  int64_t most = 6;  ///< numerators of floats, over 1 and 2; integers are small
  /// Sixteenths up to `most`, which casts don't round, integers of their types' whole range.
  bool are_irregular = false;
};

/// What comparing both sides of an instance on inputs of its own found.
struct InstanceCheck {
  bool over_rationals = false, in_doubles = false;
  std::optional<Counterexample> counterexample;
};

/// Nothing where a side cannot be evaluated; where the sides differ after something on the way was not finite (the
/// maximum of a window of padding alone), of which a law of the class kFinite or below says nothing.
std::optional<InstanceCheck> check_instance(const LawInstance& instance, Random& random,
                                            FloatClass float_class = FloatClass::kExact, const DrawnInputs& drawn = {});

/// Inputs of its own, if these are such, on which one side has a value, all that it computes being finite, and the
/// other has none though no number is large: 0 in x / |x|, which is Sign(x) elsewhere. Equal over the reals, as
/// functions that have values everywhere, are such sides nevertheless.
std::optional<Counterexample> value_of_one_side(const LawInstance& instance, Random& random);

}  // namespace isomer::verify
