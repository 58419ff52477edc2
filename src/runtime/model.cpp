#include "runtime/model.h"

#include <algorithm>
#include <cstring>

#include "runtime/artifact_check.h"
#include "runtime/artifact_file.h"
#include "runtime/cpu_features.h"

namespace isomer::runtime {

std::string describe(const Bindings& bindings) {
  if (bindings.empty()) return "no symbolic dims";
  std::string text;
  for (const auto& [name, value] : bindings) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

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
  for (const Variant& variant : artifact_.variants) {
    const bool runs = !first_missing_feature(variant.target.features);
    const bool is_first =
        std::ranges::none_of(variants_, [&](const Variant* other) { return other->bindings == variant.bindings; });
    if (runs && is_first) variants_.push_back(&variant);
  }
  if (!variants_.empty()) return {};
  const Target& target = artifact_.variants[0].target;
  return unsupported("target", "a processor with {} expected ('{}' needs it), one without it found",
                     *first_missing_feature(target.features), target.name);
}

Result<void> Model::align_weights() {
  for (const auto& weight : artifact_.weights) {
    if (reinterpret_cast<uintptr_t>(weight.data()) % kAlignment == 0 && weight.data() != nullptr) {
      weights_.push_back(weight.data());
      continue;
    }
    auto copy = Memory::allocate(static_cast<int64_t>(weight.size()));
    if (!copy) return unsupported("weights", "{} bytes of memory expected, less found", weight.size());
    if (!weight.empty()) std::memcpy(copy->data(), weight.data(), weight.size());
    weights_.push_back(copy->data());
    copies_.push_back(std::move(*copy));
  }
  return {};
}

Result<const Variant*> Model::find(const Bindings& bindings) const {
  if (bindings.empty() && variants_.size() == 1) return variants_[0];
  for (const Variant* variant : variants_)
    if (variant->bindings == bindings) return variant;
  std::string all;
  for (const Variant* variant : variants_) all += (all.empty() ? "" : "; ") + describe(variant->bindings);
  return Error{ErrorKind::kUsage, "bindings", fmt::format("one of ({}) expected, ({}) found", all, describe(bindings))};
}

}  // namespace isomer::runtime
