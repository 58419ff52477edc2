// ONNX Runtime as a peer: its C API, opened at run time; nothing of it is needed to build.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backends/peer.h"
#include "graph/graph.h"

namespace isomer::backends {

/// "1.32.0". Errors as below.
Result<std::string> onnxruntime_version(const std::string& library);

/// A session of a model on given inputs. Errors are of kind kUnsupported, with what the library said. A run that takes
/// longer ends so, too, and one whose work is asked to stop with kStopped.
Result<std::unique_ptr<Peer>> open_onnxruntime(const std::string& library, const std::string& model,
                                               const Graph& interface, const std::vector<Tensor>& inputs, int threads,
                                               double most_seconds = INFINITY);

}  // namespace isomer::backends
