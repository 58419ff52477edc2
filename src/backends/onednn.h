// oneDNN as a peer: models of one operator, as one of its primitives, in its own layouts.
#pragma once

#include <memory>

#include "backends/peer.h"
#include "graph/graph.h"

namespace isomer::backends {

/// The graph's operator on given inputs, at that many threads; null where it has no primitive for it. Operands are
/// brought into the layouts that it prefers before anything is measured, and its result is compared with `expected`,
/// the elements of the output as we compute it. Errors: kUnsupported, with what the library said; kMismatch.
Result<std::unique_ptr<Peer>> open_onednn(const std::string& library, const Graph& graph,
                                          const std::vector<Tensor>& inputs, const std::vector<float>& expected,
                                          int threads);

}  // namespace isomer::backends
