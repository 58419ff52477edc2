// cuDNN as a peer on a GPU: models of one operation that it has calls or graphs for, in its own layouts.
#pragma once

#include <string>
#include <vector>

#include "backends/gpu_peer.h"

namespace isomer::backends {

/// All its ways that work. Errors (kUnsupported), with what the library says: it can't be opened, or has no handle for
/// the GPU.
Result<GpuPeers> open_cudnn(const std::string& library, const GpuPeerRequest& request);

/// How many descriptors of the graph's operation the library takes, without a GPU; 0: it has none for it. Errors
/// (kUnsupported): no such library; it refuses one.
Result<int> describe_for_cudnn(const std::string& library, const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace isomer::backends
