// What control flow needs before it is compiled: operators over bodies are written as branches and loops (Scan as
// Loop), and bodies know what the graph around them knows: they have the constants that they capture (storage is
// shared) and the types of the states that loops carry. Not for export, which would write such constants several times.
// Test: tests/search/control_flow_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer {

/// At any depth; what is inferred anew follows. The number of changes.
Result<int> specialize_bodies(Graph& graph);

}  // namespace isomer
