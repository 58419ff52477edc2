// What programs over an image and a kernel give at an example's sizes, exactly, in Z_p: a filter, and what shows where
// a mutant is right. Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "substitutions/discover/fingerprint.h"
#include "verify/proof/term.h"

namespace isomer::substitutions {

/// All of them, row-major.
std::vector<uint32_t> all_positions(const Dims& dims);

/// Elements of terms over an image x and a kernel w, on seeded values.
class ExampleValues {
 public:
  ExampleValues(Dims x, Dims w, uint64_t seed);

  /// Of a term without names; nothing where it is none of these sizes.
  std::optional<Dims> dims(const verify::Term& term) const;
  /// At these positions; nothing where it is no term of these dims.
  std::optional<Elements> of(const verify::Term& term, const Dims& dims, std::span<const uint32_t> positions) const;
  /// By position of the dims: whether both terms are equal there. Nothing where one is no term of these dims.
  std::optional<std::vector<bool>> equal(const verify::Term& a, const verify::Term& b, const Dims& dims) const;

 private:
  Universe universe_;
  std::array<Dims, 2> dims_;
  Elements x_, w_;
};

}  // namespace isomer::substitutions
