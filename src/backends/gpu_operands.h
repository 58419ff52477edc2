// Tensors of the host on a GPU, in the order that another library likes.
#pragma once

#include <map>
#include <vector>

#include "graph/tensor.h"
#include "runtime/cuda/gpu.h"

namespace isomer::backends::gpu {

/// Orders of elements: ours (row-major), channels (the second axis) last, or the last two axes swapped.
enum class Layout : uint8_t { kPlain, kChannelsLast, kTransposed };

/// Steps between neighbours along each axis, of a plain tensor or one whose channels are last.
Dims strides(const Dims& dims, Layout layout);

/// Operands, each uploaded once a layout.
class Operands {
 public:
  explicit Operands(runtime::cuda::GpuDevice& device) : device_(device) {}
  /// Where its elements are, as long as this lives. Errors (kUnsupported): no memory.
  Result<void*> upload(const Tensor& tensor, Layout layout = Layout::kPlain);

 private:
  struct Uploaded {
    Tensor tensor;  ///< so that no other has its bytes' address
    runtime::DeviceMemory memory;
  };
  runtime::cuda::GpuDevice& device_;
  std::map<std::pair<const std::byte*, Layout>, Uploaded> uploaded_;
};

/// Memory for what a library computes.
class Output {
 public:
  static Result<Output> allocate(runtime::cuda::GpuDevice& device, DataType dtype, Dims dims, Layout layout);
  void* data() const { return memory_.data(); }
  /// Its elements in our order, once the work that writes them is done.
  Result<std::vector<float>> elements() const;

 private:
  runtime::cuda::GpuDevice* device_ = nullptr;
  DataType dtype_ = DataType::kFloat32;
  Dims dims_;
  Layout layout_ = Layout::kPlain;
  runtime::DeviceMemory memory_;
};

}  // namespace isomer::backends::gpu
