// A handle of cuDNN on a GPU, with what all ways share.
#pragma once

#include <functional>
#include <memory>

#include "backends/cudnn_library.h"
#include "backends/gpu_operands.h"
#include "backends/gpu_ways.h"

namespace isomer::backends::cudnn {

/// Asks for work in the handle's stream.
using Call = std::function<Status()>;

/// Operands, and workspace that no way keeps anything in. The device outlives it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// Errors (kUnsupported): no handle, as where there is no GPU; no memory.
  static Result<std::shared_ptr<Session>> open(std::shared_ptr<const Library> library,
                                               runtime::cuda::GpuDevice& device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Ways that want more bytes are left out.
  static constexpr int64_t kWorkspace = int64_t{1} << 29;

  const Library& library() const { return *library_; }
  Object handle() const { return handle_; }
  runtime::cuda::GpuDevice& device() const { return device_; }
  void* workspace() const { return workspace_.data(); }
  gpu::Operands& operands() { return operands_; }
  /// A call as a way's work.
  gpu::Enqueue in_stream(Call call);

 private:
  Session(std::shared_ptr<const Library> library, runtime::cuda::GpuDevice& device)
      : library_(std::move(library)), device_(device), operands_(device) {}

  std::shared_ptr<const Library> library_;
  Object handle_ = nullptr;
  runtime::cuda::GpuDevice& device_;
  runtime::DeviceMemory workspace_;
  gpu::Operands operands_;
};

}  // namespace isomer::backends::cudnn
