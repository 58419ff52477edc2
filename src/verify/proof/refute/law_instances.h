// Instances of a law at small sizes: types for its variables, numbers for its names, parameters for its rests, such
// that both sides are well typed and have the same type and the condition holds. What laws and rules are tested on.
#pragma once

#include <optional>
#include <string_view>

#include "util/random.h"
#include "verify/proof/law_family.h"

namespace isomer::verify {

struct LawInstance {
  Law law;  ///< of numbers only
  VariableTypes types;
  Bindings bindings = {};  ///< of the names that were replaced
};

/// One of them, or nothing where none of so many draws fits; `fixed`: integers, no dims, and rests that it has.
std::optional<LawInstance> draw_instance(const Law& law, std::string_view family, Random& random, int draws = 300,
                                         const Bindings& fixed = {});

}  // namespace isomer::verify
