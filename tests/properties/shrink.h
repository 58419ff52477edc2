// Smaller samples that fail as well.
#pragma once

#include <functional>

#include "properties/random_graph.h"

namespace isomer::test {

/// Greedily, as long as `fails` holds: leaves out outputs, moves outputs up, cuts values off from what makes them (they
/// become inputs), and binds symbolic dims.
Sample shrunk(Sample sample, const std::function<bool(const Sample&)>& fails);

}  // namespace isomer::test
