// cuBLASLt as a peer on a GPU: models of one product, with what its epilogues add.
#pragma once

#include <string>

#include "backends/gpu_peer.h"

namespace isomer::backends {

/// Ways that its heuristic proposes and that work. Errors (kUnsupported), with what the library says: it can't be
/// opened, or has no handle for the GPU.
Result<GpuPeers> open_cublaslt(const std::string& library, const GpuPeerRequest& request);

}  // namespace isomer::backends
