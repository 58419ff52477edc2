// Rewriting a program by a match: what the rule's target says is built beside what is there, and whoever read the source's outputs
// reads the target's. Test: tests/substitutions/match_test.cpp
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "substitutions/match.h"

namespace isomer::substitutions {

enum class Refusal {
  kCycle,     ///< an output would be computed from itself
  kNoChange,  ///< the target is there already, in the source's place
};
std::string_view name(Refusal refusal);

struct Rewritten {
  Program program;
  std::vector<int> changed;  ///< applications that are new, read something else than before, or are gone
  std::vector<int> built;    ///< by application of the targets: the same for the same match of equal programs
};

/// The match is one of this program (Substitutions::is_still_there).
std::variant<Rewritten, Refusal> apply(const Program& program, const Match& match, const Substitutions& rules);

/// What a rewrite was, so that it can be done again without a search: whoever has the rule and the program before finds the source's
/// terms at the roots, replays the rule's proof for these names, and builds the target's.
struct Step {
  std::string rule;
  bool is_forward = true;
  std::vector<std::pair<std::string, int>> tensors;  ///< the rule's variables, values of the program
  verify::Bindings names;                            ///< integers that are no dims, and rests
  std::vector<int> roots;                            ///< values that were replaced, by output of the rule
  std::string text() const;
};
Step step_of(const Match& match, const Substitutions& rules);

/// Operands that a row takes beside what it must have (the bias of a convolution) become operators of their own, where a law says how:
/// rules know the plain form. Steps that were taken, in order.
struct Plain {
  Program program;
  std::vector<Step> steps;
};
Plain with_plain_operands(Program program);

}  // namespace isomer::substitutions
