// Rewriting a program by a match: what the rule's target says is built beside what is there, and whoever read the
// source's outputs reads the target's. Test: tests/substitutions/match_test.cpp
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "substitutions/rewrite/match.h"
#include "substitutions/rewrite/step.h"

namespace isomer::substitutions {

enum class Refusal {
  kCycle,     ///< an output would be computed from itself
  kNoChange,  ///< the target is there already, in the source's place
};
std::string_view name(Refusal refusal);

struct Rewritten {
  Program program;
  std::vector<int> changed;       ///< applications that are new, read something else than before, or are gone
  std::vector<int> built;         ///< by application of the targets: the same for the same match of equal programs
  std::vector<int> targets = {};  ///< values that stand for the roots of a match now
};

/// The match is one of this program (Substitutions::is_still_there).
std::variant<Rewritten, Refusal> apply(const Program& program, const Match& match, const Substitutions& rules);

struct Added {
  std::vector<int> targets;  ///< values, by output of the rule
  std::vector<int> built;    ///< by application of the targets
};
/// What the targets say is built beside what is there, and nobody reads it yet.
Added add_targets(Program& program, const Match& match, const Substitutions& rules);

/// The match as others can check it.
Step step_of(const Match& match, const Substitutions& rules);

/// Constants that a row takes beside what it must have (the bias of a convolution) become operands of operators of
/// their own, where a law says how: rules know the plain form. Steps that were taken, in order.
struct Plain {
  Program program;
  std::vector<Step> steps;
};
Plain with_plain_operands(Program program);

}  // namespace isomer::substitutions
