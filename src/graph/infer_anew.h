// Types where what a file states of values is no promise. Test: tests/substitutions/proof_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer {

/// Infers the graph, and then its bodies. What bodies capture has the types that follow without those that are stated
/// of outputs of nodes without a row; formals get the types that the node's row gives them in every run of the body, or
/// none where the row can't tell. Formals of nodes without a row stay as they are stated. In a body that can't run on
/// these, nothing else is inferred. The graph stands in so many loops, `depth`, after which sizes that iterations
/// change are called.
Result<void> infer_anew(Graph& graph, int depth);

}  // namespace isomer
