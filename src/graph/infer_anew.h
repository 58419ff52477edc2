// Types where what a file states of values is no promise. Test: tests/substitutions/proof_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer {

/// Infers the graph, and then its bodies: on what is known of their captures, and formals as the node's row finds them
/// whenever the body runs; unknown where it can't tell. Formals of nodes without a row stay as they are stated. In a
/// body that can't run on these, nothing else is inferred. The graph stands in so many loops, `depth`, after which
/// sizes that iterations change are called.
Result<void> infer_anew(Graph& graph, int depth);

}  // namespace isomer
