// Ways of another library that work on a GPU: each is tried before it is measured.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu_operands.h"
#include "backends/gpu_peer.h"

namespace isomer::backends::gpu {

/// Asks for a way's work in a stream; keeps what it needs alive.
using Enqueue = std::function<Result<void>(runtime::cuda::Stream)>;

class Ways {
 public:
  explicit Ways(runtime::cuda::GpuDevice& device) : device_(device) {}
  /// A way that is kept where it runs once: what the library loads or builds at a first use is there afterwards, also
  /// where a stream is captured.
  void add(std::string algorithm, Enqueue enqueue, Output output);
  void leave_out(const std::string& algorithm, const Error& error);
  GpuPeers take(std::string version) &&;

 private:
  runtime::cuda::GpuDevice& device_;
  GpuPeers peers_;
};

}  // namespace isomer::backends::gpu
