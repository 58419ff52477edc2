// The passes in order. `canonicalize` simplifies a graph and writes composite operators out, so that rules find one
// spelling for one meaning; `contract` is the way back; `optimize` is both, for a model that is written again. Tests:
// tests/passes
#pragma once

#include "graph/passes/pass.h"

namespace isomer {

/// Runs the passes, again and again until none changes anything. Inputs and outputs keep names, order, types and shapes
/// (checked). A pass that fails is left out and named in the report. Errors: the graph has a cycle, or breaks a rule of
/// an operator that it has; then it is left as it was.
Result<OptimizeReport> canonicalize(Graph& graph, const PassOptions& options);

/// The same without writing composites out, but with the composites found that the model's opset has. The result has no
/// more nodes than the graph.
Result<OptimizeReport> optimize(Graph& graph, const PassOptions& options);

/// Whether PassOptions::without may name it.
bool is_pass(std::string_view name);

}  // namespace isomer
