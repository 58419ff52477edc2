// The model that peers of `bench` run: that which the code was made of, or one like it. Test: tests/cli/peers_test.cpp
#pragma once

#include <string>

#include "driver/settings.h"
#include "graph/graph.h"

namespace isomer {

/// Its inputs and outputs are in the order of the code's (`interface`), and have their shapes; where names don't say
/// what belongs together a note does. Errors (kUsage): it has others. They carry the file's name.
Result<Graph> model_of_peers(const std::string& file, const Graph& interface, const Settings& settings);

}  // namespace isomer
