#include "runtime/model.h"

#include <algorithm>
#include <cstring>

#include "runtime/artifact_check.h"
#include "runtime/artifact_file.h"
#include "runtime/cpu_features.h"
#include "util/parse_number.h"

namespace isomer::runtime {

std::string describe(const Bindings& bindings) {
  if (bindings.empty()) return "no symbolic dims";
  std::string text;
  for (const auto& [name, value] : bindings) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

namespace {

/// The first for each set of bindings.
std::vector<const Variant*> firsts_of(const std::vector<const Variant*>& variants) {
  std::vector<const Variant*> firsts;
  for (const Variant* variant : variants)
    if (std::ranges::none_of(firsts, [&](const Variant* other) { return other->bindings == variant->bindings; }))
      firsts.push_back(variant);
  return firsts;
}

}  // namespace

Model::Model(Artifact artifact, ExecutableMemory code) : artifact_(std::move(artifact)), code_(std::move(code)) {
  artifact_.code = {};
}

Result<std::shared_ptr<const Model>> Model::open(const std::filesystem::path& path) {
  TRY(Artifact artifact, read_artifact(path));
  return load(std::move(artifact));
}

Result<std::shared_ptr<const Model>> Model::load(Artifact artifact) {
  TRY_VOID(check_artifact(artifact));
  TRY(ExecutableMemory code, ExecutableMemory::copy_of(artifact.code));
  std::shared_ptr<Model> model(new Model(std::move(artifact), std::move(code)));
  TRY_VOID(model->choose_variants());
  TRY_VOID(model->align_weights());
  return std::shared_ptr<const Model>(std::move(model));
}

Result<void> Model::choose_variants() {
  const auto is_cuda = [](const Variant& variant) { return variant.target.device == DeviceKind::kCuda; };
  if (std::ranges::any_of(artifact_.variants, is_cuda)) {
    if (auto found = cuda::gpus(); found.ok())
      gpus_ = *std::move(found);
    else
      why_no_gpu_ = found.error().message();
  }
  for (const Variant& variant : artifact_.variants)
    if (runs_here(variant.target)) usable_.push_back(&variant);
  variants_ = firsts_of(usable_);
  if (variants_.empty()) return why_none_runs();
  return {};
}

bool Model::runs_here(const Target& target) const {
  if (target.device == DeviceKind::kCpu) return !first_missing_feature(target.features);
  return std::ranges::any_of(gpus_, [&](const cuda::GpuFacts& gpu) { return cuda::runs(target.name, gpu); });
}

bool Model::runs_on(const Target& target, const DeviceChoice& device) const {
  return target.device == DeviceKind::kCpu || std::ranges::any_of(gpus_, [&](const cuda::GpuFacts& gpu) {
           return gpu.ordinal == device.ordinal && cuda::runs(target.name, gpu);
         });
}

Error Model::why_none_runs() const {
  const Target& target = artifact_.variants[0].target;
  if (target.device == DeviceKind::kCpu)
    return unsupported("target", "a processor with {} expected ('{}' needs it), one without it found",
                       *first_missing_feature(target.features), target.name);
  std::string found = why_no_gpu_.empty() ? "no GPU" : why_no_gpu_;
  for (const cuda::GpuFacts& gpu : gpus_)
    found = fmt::format("{}{} ({})", &gpu == gpus_.data() ? "" : found + ", ", gpu.name, gpu.arch());
  return unsupported("target", "a GPU that runs code for {} expected, found: {}", target.name, found);
}

Result<void> Model::align_weights() {
  for (const auto& weight : artifact_.weights) {
    if (reinterpret_cast<uintptr_t>(weight.data()) % kAlignment == 0 && weight.data() != nullptr) {
      weights_.push_back(weight.data());
      const MappedFile* file = mapped_file_of(weight);
      if (file != nullptr && std::ranges::find(mapped_, file) == mapped_.end()) mapped_.push_back(file);
      continue;
    }
    auto copy = Memory::allocate(static_cast<int64_t>(weight.size()));
    if (!copy) return unsupported("weights", "{} bytes of memory expected, less found", weight.size());
    if (!weight.empty()) std::memcpy(copy->data(), weight.data(), weight.size());
    TRY_VOID(isomer::check_unchanged(weight));
    weights_.push_back(copy->data());
    copies_.push_back(std::move(*copy));
  }
  return {};
}

Result<void> Model::check_unchanged() const {
  for (const MappedFile* file : mapped_) TRY_VOID(isomer::check_unchanged(*file));
  return {};
}

Result<const Variant*> Model::find(const Bindings& bindings, const std::optional<DeviceChoice>& device) const {
  std::vector<const Variant*> candidates = variants_;
  if (device) {
    candidates = usable_;
    std::erase_if(candidates, [&](const Variant* variant) { return variant->target.device != device->kind; });
    if (candidates.empty())
      return Error{ErrorKind::kUsage, "device",
                   fmt::format("one that the artifact runs on expected, it has no variant for {} here",
                               device->kind == DeviceKind::kCpu ? "the CPU" : "a GPU")};
    // Of several architectures those of this GPU; where there are none `gpu_for` says so.
    std::vector<const Variant*> there;
    std::ranges::copy_if(candidates, std::back_inserter(there),
                         [&](const Variant* variant) { return runs_on(variant->target, *device); });
    candidates = firsts_of(there.empty() ? candidates : there);
  }
  if (bindings.empty() && candidates.size() == 1) return candidates[0];
  for (const Variant* variant : candidates)
    if (variant->bindings == bindings) return variant;
  std::string all;
  for (const Variant* variant : candidates) all += (all.empty() ? "" : "; ") + describe(variant->bindings);
  return Error{ErrorKind::kUsage, "bindings", fmt::format("one of ({}) expected, ({}) found", all, describe(bindings))};
}

Result<std::shared_ptr<const cuda::Gpu>> Model::gpu_for(const Variant& variant,
                                                        const std::optional<DeviceChoice>& device) const {
  for (const cuda::GpuFacts& gpu : gpus_)
    if ((!device || device->ordinal == gpu.ordinal) && cuda::runs(variant.target.name, gpu))
      return cuda::Gpu::open(gpu.ordinal);
  return Error{ErrorKind::kUsage, "device",
               fmt::format("a GPU that runs code for {} expected, cuda:{} found", variant.target.name,
                           device ? device->ordinal : 0)};
}

Result<std::shared_ptr<const cuda::Resident>> Model::on(std::shared_ptr<const cuda::Gpu> gpu) const {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const cuda::Resident>& known = residents_[gpu->facts().ordinal];
  if (auto resident = known.lock()) return resident;
  TRY(std::shared_ptr<const cuda::Resident> resident, cuda::Resident::create(artifact_, std::move(gpu)));
  for (const auto& weight : artifact_.weights) TRY_VOID(isomer::check_unchanged(weight));
  known = resident;
  return resident;
}

Result<std::optional<DeviceChoice>> parse_device(const std::string& text) {
  if (text.empty()) return std::optional<DeviceChoice>();
  if (text == "cpu") return std::optional(DeviceChoice{});
  if (text == "cuda") return std::optional(DeviceChoice{DeviceKind::kCuda, 0});
  constexpr std::string_view kPrefix = "cuda:";
  if (text.starts_with(kPrefix)) {
    const auto ordinal = parse_number<int>(std::string_view(text).substr(kPrefix.size()));
    if (ordinal && *ordinal >= 0) return std::optional(DeviceChoice{DeviceKind::kCuda, *ordinal});
  }
  return Error{ErrorKind::kUsage, "device", fmt::format("cpu, cuda or cuda:NUMBER expected, '{}' found", text)};
}

}  // namespace isomer::runtime
