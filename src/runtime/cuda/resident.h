// What sessions of a model share on a GPU: its modules, loaded, and its weights, uploaded once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda/gpu.h"

namespace isomer::runtime::cuda {

class Resident {
 public:
  /// Of the variants that run on the GPU. The artifact outlives it.
  static Result<std::shared_ptr<const Resident>> create(const Artifact& artifact, std::shared_ptr<const Gpu> gpu);
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  const std::shared_ptr<const Gpu>& gpu() const { return gpu_; }
  /// By number of the weight; nullptr where no variant reads it.
  std::span<const std::byte* const> weights() const { return weights_; }
  int64_t weight_bytes() const { return weight_bytes_; }
  /// Of a kernel, in the order of its launches.
  const std::vector<Function>& functions(int32_t kernel) const { return functions_[static_cast<size_t>(kernel)]; }

 private:
  explicit Resident(std::shared_ptr<const Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<void> load(const Artifact& artifact);
  Result<void> upload(const Artifact& artifact);

  std::shared_ptr<const Gpu> gpu_;
  std::vector<Module> modules_;  ///< the driver's; nullptr where they are for other devices
  std::vector<std::vector<Function>> functions_;
  DeviceMemory memory_;
  std::vector<const std::byte*> weights_;
  int64_t weight_bytes_ = 0;
};

}  // namespace isomer::runtime::cuda
