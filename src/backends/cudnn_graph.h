// cuDNN's graph API: an operation with all that follows it as one graph, and engines that run it.
#pragma once

#include "backends/cudnn_session.h"
#include "backends/gpu_operation.h"

namespace isomer::backends::cudnn {

/// Adds plans that the library's heuristics propose for a convolution or a normalization of layers. Without `tf32` none
/// of float32 uses tensor cores.
void add_graphs(Session& session, const gpu::Operation& operation, bool tf32, gpu::Ways& ways);

/// How many descriptors of its graph the library takes, without a GPU. Errors (kUnsupported): it refuses one.
Result<int> describe_graphs(const Library& library, const gpu::Operation& operation);

}  // namespace isomer::backends::cudnn
