// Values of terms on seeded inputs, and short numbers that tell them apart.
#pragma once

#include <map>
#include <span>

#include "substitutions/discover/bytecode.h"
#include "util/hash.h"

namespace isomer::substitutions {

/// What all values are computed from: the inputs and the functions that are arbitrary. Equal seeds, equal universes.
class Universe {
 public:
  Universe(uint64_t seed, bool wide) : seed_(seed), wide_(wide), arithmetic_(seed ^ 0x5eed) {}
  const Arithmetic& arithmetic() const { return arithmetic_; }
  /// The elements of a variable.
  Elements variable(std::string_view name, int64_t count) const;

 private:
  uint64_t seed_;
  bool wide_;
  Arithmetic arithmetic_;
};

/// Of the dims and of every element, for every seed; what stands modulo kExponents takes no part.
Hash128 fingerprint(const Dims& dims, const uint32_t* elements, bool wide);
/// Whether the elements are equal, for every seed.
bool same_elements(const uint32_t* a, const uint32_t* b, int64_t count, bool wide);

/// A sample of a tensor's elements, the same for all tensors of some dims: what is compared first, and where most terms
/// differ.
struct Sample {
  std::vector<uint32_t> positions;
  std::vector<uint32_t> keys;  ///< kSeeds a position
  uint64_t salt = 0;           ///< differs between dims
  static Sample of(const Dims& dims);
};

/// The fingerprint of a whole term, by name of variable: for tests and counterexamples, not fast.
Result<Hash128> fingerprint(const verify::Term& term, const std::map<std::string, Dims>& variables,
                            const Universe& universe, bool wide);

}  // namespace isomer::substitutions
