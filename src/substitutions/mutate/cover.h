// A program as a cover of its output by boxes, each computed by a program that is right there (PET: Wang et al., OSDI
// 2021, section 5: a mutant, and what corrects it). Test: tests/substitutions/mutants_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "substitutions/mutate/boxes.h"
#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// A box of the output at the rule's example.
struct CoverPart {
  Box box;
  verify::Term program;    ///< that computes it, at the example's sizes
  verify::Term stated;     ///< the same as the rule says it
  bool is_cut = false;     ///< the program has all of the output's elements, and the box is cut out of it:
  std::vector<Box> wrong;  ///< here it is wrong
};

struct Cover {
  Dims dims;  ///< of the output at the rule's example
  std::vector<CoverPart> parts;
};

/// Of a rule over an image x and a kernel w: the output's boxes, as far as joins and cuts are the last that its right
/// side does, in the order in which they are joined. Nothing where it is no such rule.
std::optional<Cover> cover_of(const Rule& rule);

}  // namespace isomer::substitutions
