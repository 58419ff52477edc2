// Checking an optimization from its files: the input, the model that came out, the proof (derivation.h). The model is
// derived again and must be the one in the file, but for what nobody computes with: names within, texts. Test:
// tests/substitutions/verify_files_test.cpp
#pragma once

#include <filesystem>
#include <optional>

#include "substitutions/derivation.h"
#include "verify/check.h"

namespace isomer::substitutions {

struct ModelFiles {
  std::filesystem::path input, output, proof;
};

struct VerifyOptions {
  /// What the proof may bind; what it leaves open is bound where the models are run.
  std::map<std::string, int64_t> dims = {};
  std::map<std::string, Dims> shapes = {};
  FloatMode fp = FloatMode::kReassociate;               ///< the weakest that the proof may be of
  CheckOptions check;                                   ///< runs 0: neither model is run
  std::function<void(std::string_view)> log = nullptr;  ///< a line a pass
};

struct Verified {
  Derivation derivation;
  Derived derived;
  std::optional<CheckReport> check;
};

/// Errors name the file. kMismatch: the proof is not one of these models or not of what is granted, or a step does not
/// hold, or they differ when they are run.
Result<Verified> verify_files(const ModelFiles& files, const VerifyOptions& options);

}  // namespace isomer::substitutions
