// What `bench` measures a GPU's code against: another library on the same GPU and the same inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/cuda/gpu.h"

namespace isomer::backends {

/// One of a library's ways to compute a model, with operands of its own on the GPU, laid out as it prefers.
class GpuPeer {
 public:
  virtual ~GpuPeer() = default;
  /// What it runs, in the library's own words.
  virtual std::string algorithm() const = 0;
  /// Asks for its work in a stream, which may be captured: it neither waits nor allocates.
  virtual Result<void> enqueue(runtime::cuda::Stream stream) = 0;
  /// Elements of its result in the order of ours, after the stream is done.
  virtual Result<std::vector<float>> result() = 0;
};

/// All ways that a library has; which is the fastest only measuring tells.
struct GpuPeers {
  std::string version;
  std::vector<std::unique_ptr<GpuPeer>> ways;  ///< empty: it has none for the model
  std::string left_out;                        ///< the first way that does not work, and why; empty: all do
};

/// What peers are asked for.
struct GpuPeerRequest {
  const Graph& graph;
  const std::vector<Tensor>& inputs;  ///< of the graph
  runtime::cuda::GpuDevice& device;   ///< its context is current
  bool tf32 = false;                  ///< products of float32 may be rounded to tf32
};

}  // namespace isomer::backends
