// What files and steps give is told apart from what a proof calls its own. Test: tests/substitutions/proof_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer {

/// Names of values and sizes with a '#' get another one in front. Nodes without a row are called by numbers, "#7",
/// those after `last`, which becomes the last; no other node has such a name. In bodies, too.
void mark_given(Graph& graph, int& last);

}  // namespace isomer
