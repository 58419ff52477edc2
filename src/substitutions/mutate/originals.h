// What mutants are looked for of. Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "substitutions/mutate/shaped_term.h"

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
/// What the model's convolutions of known sizes are told, each once, at sizes of their own kind: small ones that leave
/// the same remainders.
std::vector<Original> originals_of(const Graph& model);

}  // namespace isomer::substitutions
