// Which step of a derivation changed what a model computes: a check by numbers says that one did, not which. Steps have
// proofs, over the reals; passes have none, and rounding or overflow may still tell two programs apart. Test:
// tests/substitutions/blame_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "substitutions/derivation/derivation.h"

namespace isomer::substitutions {

struct Blame {
  std::string what;            ///< a pass, or a step with its rule and place
  std::optional<size_t> step;  ///< of the derivation
  std::string pass;            ///< or a pass; neither: writing composites out
  bool can_be_left_out() const { return step || !pass.empty(); }
  Graph before, after;  ///< of it alone; they differ. What is behind the first readers of what it made is left out
                        ///< where they still do
};

/// Whether the second graph computes something else than the first; both have the same inputs, and as many outputs.
using Differ = std::function<Result<bool>(const Graph& before, const Graph& after)>;

/// By bisection: the first after which the model differs. Nothing where the derived model does not: what is wrong
/// happened behind it. Errors: those of `derived` and of `differ`.
Result<std::optional<Blame>> blame(const Graph& model, const Derivation& derivation, Theory& theory,
                                   const Differ& differ);

}  // namespace isomer::substitutions
