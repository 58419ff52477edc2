// Mutants (Wang et al., OSDI 2021, section 4): programs of the shape of another one that give what it gives on most of
// its output, wherever their borders lie; corrected (section 5) where they don't, and proved by elements for all sizes.
// What is corrected, proved and kept is a rule like any other. Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "substitutions/mutate/shaped_term.h"
#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// What mutants are looked for of: a convolution of an image x and a kernel w, with names for what it is told, and the
/// numbers of an example.
struct Original {
  Convolution convolution;
  Dims image, kernel;
  std::map<std::string, int64_t, std::less<>> numbers;

  ShapedTerm built() const;
  /// With the dims of x and w.
  verify::Bindings example() const;
};
/// Of one, two and three axes; dense, with strides or dilations, transposed.
std::vector<Original> originals();

struct MutantOptions {
  int max_operators = 4;
  int max_axes = 3;  ///< of images
  int threads = 1;
  uint64_t seed = 0;
  int trials = 60;  ///< draws of sizes and structures that a proof for all sizes must cover
  std::function<void(const std::string& line)> log;
};

struct MutantStatistics {
  int64_t tried = 0, typed = 0;
  int equal = 0;      ///< everywhere, as they are
  int partly = 0;     ///< where no border is near
  int corrected = 0;  ///< of these
  double seconds = 0;
};

struct Mutants {
  std::vector<Rule> rules;
  MutantStatistics statistics;
};

/// The same for any number of threads. Errors: Z3 fails, kStopped.
Result<Mutants> mutants(const MutantOptions& options);

}  // namespace isomer::substitutions
