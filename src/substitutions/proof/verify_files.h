// Checking an optimization from its files: the input, the model that came out, the proof (proof.h). No pass is run and
// nothing is searched: both models stand in one ledger, the proof's steps say what is equal, and the outputs must be.
// Test: tests/substitutions/verify_files_test.cpp
#pragma once

#include <filesystem>
#include <optional>

#include "substitutions/proof/proof.h"
#include "verify/check/check.h"

namespace isomer::substitutions {

struct ModelFiles {
  std::filesystem::path input, output, proof;
};

struct VerifyOptions {
  /// What the proof may bind; what it leaves open is bound where the models are run.
  std::map<std::string, int64_t> dims = {};
  std::map<std::string, Dims> shapes = {};
  FloatMode fp = FloatMode::kReassociate;              ///< the weakest that the proof may be of
  std::shared_ptr<const OpTable> operators = nullptr;  ///< of users: their rows are trusted as ours are
  CheckOptions check;                                  ///< runs 0: neither model is run
};

struct Verified {
  ModelProof proof;
  FloatClass float_class = FloatClass::kExact;  ///< the weakest of the steps
  std::optional<CheckReport> check;
  bool has_free_sizes = false;  ///< the input's, which are taken to be 1 or more
};

/// Errors name the file. kMismatch: the proof is not one of these models or not of what is granted, or a step does not
/// hold, or they differ when they are run.
Result<Verified> verify_files(const ModelFiles& files, const VerifyOptions& options);

}  // namespace isomer::substitutions
