// An artifact made ready to run on this machine; sessions share its code and weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/cuda/resident.h"
#include "runtime/memory.h"
#include "util/mapped_bytes.h"
#include "util/result.h"

namespace isomer::runtime {

using Bindings = std::map<std::string, int64_t>;
/// "batch=1, seq=64"; "no symbolic dims" for none.
std::string describe(const Bindings& bindings);

/// A device of this machine, as users call it: "cpu", "cuda" (the first GPU) or "cuda:1".
struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = 0;
};
/// Nothing for "". The error is of kind kUsage.
Result<std::optional<DeviceChoice>> parse_device(const std::string& text);

class Model {
 public:
  /// Refuses an artifact of which no variant runs on this machine, naming the first feature that the first one lacks.
  static Result<std::shared_ptr<const Model>> open(const std::filesystem::path& path);
  /// The same for an artifact that was just compiled.
  static Result<std::shared_ptr<const Model>> load(Artifact artifact);

  /// Without its code, which lies in executable memory now.
  const Artifact& artifact() const { return artifact_; }
  /// Variants that this machine runs, preferred ones first, one for each set of bindings.
  const std::vector<const Variant*>& variants() const { return variants_; }
  /// The variant of exactly these bindings; of none where there is one variant only. The error says which there are.
  /// On the device that is wanted, or else on that of the first one that this machine runs.
  Result<const Variant*> find(const Bindings& bindings, const std::optional<DeviceChoice>& device = {}) const;
  /// The GPU that a variant is to run on.
  Result<std::shared_ptr<const cuda::Gpu>> gpu_for(const Variant& variant,
                                                   const std::optional<DeviceChoice>& device) const;
  /// On a GPU, brought there at the first call. It lives as long as somebody has it.
  Result<std::shared_ptr<const cuda::Resident>> on(std::shared_ptr<const cuda::Gpu> gpu) const;

  const std::byte* code() const { return code_.bytes().data(); }
  /// Aligned, by number of the weight.
  std::span<const std::byte* const> weights() const { return weights_; }
  /// An error once a file that `weights` are mapped from has changed since it was opened.
  Result<void> check_unchanged() const;

 private:
  Model(Artifact artifact, ExecutableMemory code);
  Result<void> choose_variants();
  bool runs_here(const Target& target) const;
  bool runs_on(const Target& target, const DeviceChoice& device) const;
  Error why_none_runs() const;
  Result<void> align_weights();

  Artifact artifact_;
  ExecutableMemory code_;
  std::vector<cuda::GpuFacts> gpus_;      ///< of this machine, looked for where a variant needs one
  std::string why_no_gpu_;                ///< where there is none
  std::vector<const Variant*> usable_;    ///< all that this machine runs
  std::vector<const Variant*> variants_;  ///< the first of them for each set of bindings
  std::vector<const std::byte*> weights_;
  std::vector<Memory> copies_;             ///< of weights that were given unaligned
  std::vector<const MappedFile*> mapped_;  ///< that the other weights lie in; the artifact's owners keep them
  mutable std::mutex mutex_;
  mutable std::map<int, std::weak_ptr<const cuda::Resident>> residents_;  ///< by number of the GPU
};

}  // namespace isomer::runtime
