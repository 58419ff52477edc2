// Instances of a law at small sizes: types for its variables, numbers for its names, parameters for its rests, such that both
// sides are well typed and have the same type and the condition holds. What laws and rules are tested on.
#pragma once

#include <optional>
#include <string_view>

#include "util/random.h"
#include "verify/substitute.h"
#include "verify/term_graph.h"

namespace isomer::verify {

struct LawInstance {
  Law law;  ///< of numbers only
  VariableTypes types;
};

/// Families of shapes: "equal" (all variables have one shape, of rank 0 to 4), "broadcast" (ranks up to 4, dims that broadcast),
/// "ranked" (one rank of 1 to 4, any dims), "matrices" (rank 2 or 3), "images" (one rank of 3 to 5, as convolutions take them).
bool is_shape_family(std::string_view family);

/// One of them, or nothing where none of some thousand draws fits.
std::optional<LawInstance> draw_instance(const Law& law, std::string_view family, Random& random);

}  // namespace isomer::verify
