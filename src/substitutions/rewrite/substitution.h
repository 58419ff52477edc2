// Rules made ready for matching (verify/prover/pattern.h): each direction is a substitution of its own, its sources are
// patterns that are looked for one after the other, each joined to those before by a variable that they share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "substitutions/rewrite/theory.h"
#include "verify/prover/pattern.h"

namespace isomer::substitutions {

struct Substitution : verify::Slots {
  /// One source's place in the search: it has `variable`, bound by then, below these applications, from the lowest up
  /// to its root.
  struct Joined {
    int source = 0;
    int variable = -1;  ///< -1: it is the first
    std::vector<const verify::Pattern*> path;
    std::vector<size_t> positions;  ///< of the variable, and of each application of the path, in what reads it
  };

  const Rule* rule = nullptr;
  bool is_forward = true;
  std::vector<verify::Pattern> sources, targets;
  std::vector<std::vector<Joined>> orders;           ///< by the source that is looked for first
  std::vector<std::optional<Dim>> example_integers;  ///< what the rule's example has for a name
  std::vector<std::optional<verify::Parameters>> example_rests;
  int first_id = 0, applications = 0;  ///< ids of the sources' applications are consecutive
  std::vector<bool> turns;             ///< of them: the other order of the operands gives another match
  int depth = 0;                       ///< applications on the longest path of a source

  /// The same of those that say the same by the same laws, whatever their names are.
  std::string key() const;
};

/// Why a direction can't be used.
enum class Unusable {
  kNoOperator,    ///< an output of the source is a variable or a number: it is everywhere
  kOpenTensor,    ///< the target has a variable that the source does not bind
  kOnlyCommutes,  ///< the sides are the same but for operands that commute
  kOwnInverse,    ///< the other direction says the same by other names
  kOnlyAdds,      ///< the target has all of the source in it, and more
  kApart,         ///< outputs of the source share no variable that they could be found by
  kKnown,         ///< another one says the same by the same laws
  kTooLarge,      ///< a side has more operators than are looked for
};
std::string_view name(Unusable reason);

std::variant<std::unique_ptr<Substitution>, Unusable> substitution_of(const Rule& rule, bool is_forward,
                                                                      const Theory& theory, int& next_id);

}  // namespace isomer::substitutions
