// Code against the meaning of the model that it was made of. Tests: tests/cli, tests/driver
#pragma once

#include "runtime/artifact.h"
#include "search/code/coverage.h"
#include "util/clock.h"
#include "util/memory_limit.h"
#include "verify/check/equivalence.h"

namespace isomer {

struct CheckCodeOptions {
  uint64_t seed = 0;
  int threads = 1;
  MemoryLimit memory = {};
  Clock::time_point until = Clock::now();  ///< no more inputs are tried then
};

struct CodeCheck {
  Equivalence equivalence;
  search::Coverage coverage;
  bool is_of_plain_loops = false;  ///< Compilation::plain ran in place of a GPU's code
};

/// Whether code for a target can be checked here: a GPU that is not here has plain loops in its place
/// (Compilation::plain).
bool can_check(const kernel::Target& target);

/// Strictness::reach of what code makes: tensor cores (kernel/mma.h) may have rounded floats to 11 bits instead of 24.
double reach_of(const runtime::Variant& variant);

/// The artifact of a compilation against the interpreter on the model as it was read. Errors (kUnsupported, which say
/// that --no-check skips the check): memory; no inputs are found on which the model runs.
Result<CodeCheck> check_code(const Graph& model, const search::Compilation& code, const CheckCodeOptions& options);

}  // namespace isomer
