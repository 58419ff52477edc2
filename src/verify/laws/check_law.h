// Is a law true? Its instances are drawn and compared, each on inputs of its own
// (verify/proof/refute/check_instance.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "verify/proof/refute/check_instance.h"

namespace isomer::verify {

struct LawCheck {
  int instances = 0;  ///< on which both sides were compared
  int over_rationals = 0, in_doubles = 0;
  std::optional<Counterexample> counterexample;  ///< the smallest of those found
  bool holds() const { return instances > 0 && !counterexample; }
};

/// Compares both sides on up to `trials` instances, each on inputs of its own, as check_instance does for laws of that
/// class; none where the law's family has no instance.
LawCheck check_law(const Law& law, std::string_view family, int trials, uint64_t seed,
                   FloatClass float_class = FloatClass::kExact);

}  // namespace isomer::verify
