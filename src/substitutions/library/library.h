// The substitution library: equations that an enumeration finds, each proved, made general, and kept once (DESIGN.md,
// section 5). Test: tests/substitutions/library_test.cpp
#pragma once

#include "substitutions/discover/enumerate.h"
#include "substitutions/library/rules_file.h"
#include "util/cluster.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions {

struct LibraryOptions {
  EnumerationOptions enumeration;
  verify::ProveLimits limits;
  std::function<void(int64_t done, int64_t candidates)> proving;  ///< progress, of this process
};

struct LibraryStatistics {
  Enumeration enumeration;
  int candidates = 0;  ///< equations, and sets of equations whose sides share operators
  int proved = 0, unproved = 0;
  int kept = 0;  ///< the others say what another rule says
  double seconds_enumerating = 0, seconds_proving = 0;
  std::vector<std::string> unproved_texts;
};

struct Library {
  std::vector<Rule> rules;  ///< by size, then by text
  LibraryStatistics statistics;
};

/// Rules of up to so many operators a side, at rank 0; other ranks share the work, through files in the enumeration's
/// folder, and have none. The same for any number of threads and processes. Errors, the same at all ranks: those of
/// enumerate, Z3 fails.
Result<Library> generate(const OperatorSet& set, const LibraryOptions& options, Cluster& cluster);

/// A rule from sides that a user wrote, with types that they hold for. Errors: there is no proof.
Result<Rule> prove_rule(const std::vector<Output>& outputs, const verify::VariableTypes& types, verify::Prover& prover,
                        const verify::ProveLimits& limits = {});

}  // namespace isomer::substitutions
