// One rewrite of a program, as others can check it and do it again. The checker knows neither how matches are found nor
// why this one was taken. Test: tests/substitutions/derivation_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "substitutions/rewrite/program.h"

namespace isomer::substitutions {

/// What a rewrite was: the source's terms, on these tensors, stand at the roots, and who read those reads the target's
/// instead.
struct Step {
  std::string rule;
  bool is_forward = true;
  std::vector<std::pair<std::string, int>> tensors;  ///< the rule's variables, values of the program
  verify::Bindings names;                            ///< integers that are no dims, and rests
  std::vector<int> roots;                            ///< values that were replaced, by output of the rule
  std::string text() const;
};

/// Does a step in the program if it is one by this rule. Errors say what does not hold; the program is then in no state
/// to be used.
Result<void> take_step(Program& program, const Step& step, const Rule& rule);

}  // namespace isomer::substitutions
