#include "runtime/cuda/resident.h"

namespace isomer::runtime::cuda {

Result<std::shared_ptr<const Resident>> Resident::create(const Artifact& artifact, std::shared_ptr<const Gpu> gpu) {
  const Gpu::Current current(*gpu);
  std::shared_ptr<Resident> resident(new Resident(gpu));
  TRY_VOID(resident->load(artifact));
  TRY_VOID(resident->upload(artifact));
  return std::shared_ptr<const Resident>(std::move(resident));
}

Resident::~Resident() {
  const Gpu::Current current(*gpu_);
  for (Module module : modules_)
    if (module) gpu_->driver().module_unload(module);
}

Result<void> Resident::load(const Artifact& artifact) {
  const Driver& driver = gpu_->driver();
  for (size_t k = 0; k < artifact.modules.size(); ++k) {
    Module module = nullptr;
    if (runs(artifact.modules[k].arch, gpu_->facts()))
      TRY_VOID(driver.check(driver.module_load(&module, artifact.modules[k].image.data()),
                            fmt::format("module {} to be loaded", k)));
    modules_.push_back(module);
  }
  for (const Kernel& kernel : artifact.kernels) {
    std::vector<Function>& functions = functions_.emplace_back();
    Module module = kernel.module < 0 ? nullptr : modules_[static_cast<size_t>(kernel.module)];
    for (const Launch& launch : kernel.launches) {
      functions.push_back(nullptr);
      if (!module) continue;
      auto function = driver.function(module, launch.function, launch.shared_bytes);
      if (!function.ok()) return std::move(function).error().within(fmt::format("module {}", kernel.module));
      functions.back() = *function;
    }
  }
  return {};
}

Result<void> Resident::upload(const Artifact& artifact) {
  constexpr int64_t kNowhere = -1;
  std::vector<int64_t> offsets(artifact.weights.size(), kNowhere);
  for (const Variant& variant : artifact.variants) {
    if (variant.target.device != DeviceKind::kCuda || !runs(variant.target.name, gpu_->facts())) continue;
    for (const Value& value : variant.values) {
      const auto* in = std::get_if<InWeights>(&value.place);
      if (in == nullptr || offsets[static_cast<size_t>(in->number)] != kNowhere) continue;
      offsets[static_cast<size_t>(in->number)] = weight_bytes_;
      const auto bytes = static_cast<int64_t>(artifact.weights[static_cast<size_t>(in->number)].size());
      weight_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
  }
  TRY(const std::unique_ptr<GpuDevice> device, GpuDevice::create(gpu_));
  auto memory = device->allocate(weight_bytes_);
  if (!memory)
    return unsupported("weights", "{} bytes of memory of '{}' expected, less found", weight_bytes_, gpu_->facts().name);
  memory_ = std::move(*memory);
  weights_.resize(artifact.weights.size());
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (offsets[k] == kNowhere) continue;
    std::byte* const place = memory_.data() + offsets[k];
    device->upload(place, artifact.weights[k].data(), static_cast<int64_t>(artifact.weights[k].size()));
    weights_[k] = place;
  }
  return device->finish();
}

}  // namespace isomer::runtime::cuda
