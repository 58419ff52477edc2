// cuDNN's calls of one operation each: a function, an algorithm and a layout are a way.
#pragma once

#include "backends/cudnn_session.h"
#include "backends/gpu_operation.h"

namespace isomer::backends::cudnn {

/// Adds its ways of an operation whose windows have at least two axes; none of products and normalizations.
void add_calls(Session& session, const gpu::Operation& operation, bool tf32, gpu::Ways& ways);

/// How many descriptors of the operation the library takes, without a GPU. Errors (kUnsupported): it refuses one.
Result<int> describe_calls(const Library& library, const gpu::Operation& operation);

}  // namespace isomer::backends::cudnn
