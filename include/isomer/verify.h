// Isomer's C++ interface to the check of a proof that optimize.h gives. C++20 and its library alone.
#ifndef ISOMER_VERIFY_H
#define ISOMER_VERIFY_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/operator.h"
#include "isomer/work.h"

namespace isomer {

struct VerifyModelOptions {
  std::string fp = "reassociate";  ///< what the proof may do to rounding, at most
  /// What the proof may bind.
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<Operator> operators;  ///< of yours, in the models
  int check_runs = 2;               ///< inputs on which both models are run besides; 0: they are not
  int threads = 0;                  ///< 0: as many as this process may use
  uint64_t seed = 0;
  int64_t memory = 0;          ///< bytes that all of it may take; 0: three quarters of what there is
  const Stop* stop = nullptr;  ///< outlives the call
};

struct VerifiedModel {
  int64_t steps = 0, rules = 0;
  std::string fp;        ///< that the proof asks for
  std::string fp_class;  ///< of its weakest step
};

/// Checks each step of a proof, without the search and without the passes that made it, and that by them all outputs of
/// both models are equal. A failure of kind `mismatch`: they are not, or that does not follow.
Expected<VerifiedModel> verify_model(const std::string& model, const std::string& optimized, const std::string& proof,
                                     const VerifyModelOptions& options = {});

}  // namespace isomer

#endif
