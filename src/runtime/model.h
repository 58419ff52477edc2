// An artifact made ready to run on this machine; sessions share its code and weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/memory.h"
#include "util/result.h"

namespace isomer::runtime {

using Bindings = std::map<std::string, int64_t>;
/// "batch=1, seq=64"; "no symbolic dims" for none.
std::string describe(const Bindings& bindings);

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
  Result<const Variant*> find(const Bindings& bindings) const;

  const std::byte* code() const { return code_.bytes().data(); }
  /// Aligned, by number of the weight.
  const std::byte* weight(int32_t number) const { return weights_[number]; }

 private:
  Model(Artifact artifact, ExecutableMemory code);
  Result<void> choose_variants();
  Result<void> align_weights();

  Artifact artifact_;
  ExecutableMemory code_;
  std::vector<const Variant*> variants_;
  std::vector<const std::byte*> weights_;
  std::vector<Memory> copies_;  ///< of weights that were given unaligned
};

}  // namespace isomer::runtime
