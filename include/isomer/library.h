// Isomer's C++ interface to its substitution library: the rules, and where equations that somebody states stand with
// them. C++20 and its library alone.
#ifndef ISOMER_LIBRARY_H
#define ISOMER_LIBRARY_H

#include <cstdint>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/work.h"

namespace isomer {

/// A proved rule: its left side may be replaced by its right side, and the other way round.
struct LibraryRule {
  std::string name;
  std::string statement;  ///< LEFT ; … = RIGHT ; …, as `isomer library list` prints it
  std::string fp_class;   ///< "exact", "sign-of-zero", "finite", "reassociated", "unsafe"
  int64_t laws = 0;       ///< uses of laws in its proof
};

/// Of files (STEM.rules beside STEM.proofs), or without any those that come with Isomer. The proofs are read, not
/// checked: `isomer library replay` does that.
Expected<std::vector<LibraryRule>> library_rules(const std::vector<std::string>& files = {});

struct CheckEquationsOptions {
  std::vector<std::string> rules;  ///< files, as above
  int threads = 0;                 ///< 0: as many as this process may use
  uint64_t seed = 0;
  const Stop* stop = nullptr;  ///< outlives the call
};

/// Where an equation stands.
struct CheckedEquation {
  int line = 0;  ///< from 1
  std::string label;
  std::string statement;
  /// "is rule", "is law": an instance of one; "follows": from rules; "follows with laws": laws are used, too; "proved":
  /// by the prover alone; "refuted"; "unknown".
  std::string verdict;
  std::vector<std::string> rules, laws;  ///< what it follows from, by name
  std::string why;                       ///< a sentence; of what is refuted the inputs and what both sides give
};

/// Lines of LABEL | TYPES | LEFT ; … = RIGHT ; … , each by itself; types as in "x[2,3] c:bool[3]", float32 where
/// nothing is said. Z3's program (`z3`) must be there. Failures: a line that is no equation, or has no types.
Expected<std::vector<CheckedEquation>> check_equations(const std::string& text,
                                                       const CheckEquationsOptions& options = {});

}  // namespace isomer

#endif
