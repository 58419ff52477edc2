// Doing in a program what was found in a part of it, or in a program that others have rewritten too.
// Test: tests/search/optimize_model_test.cpp
#pragma once

#include <map>
#include <vector>

#include "substitutions/rewrite/apply.h"
#include "substitutions/rewrite/subprogram.h"

namespace isomer::search {

/// Follows the part and the whole through the same steps.
class Lockstep {
 public:
  /// The rules outlive it.
  Lockstep(substitutions::Program whole, substitutions::Subprogram part, substitutions::Substitutions& rules)
      : whole_(std::move(whole)), part_(std::move(part.program)), values_(std::move(part.values)), rules_(rules) {}

  /// Done in the part, not in the whole: what reads its outputs there reads here what they replaced.
  void pass_over(const substitutions::Match& match);
  /// False where the whole does not take it: it would become a cycle, or what it needs is not there.
  bool take(const substitutions::Match& match);
  /// A copy of this one that took other steps in the meantime: its whole is the whole from now on, and the part goes on
  /// from where it is.
  void adopt(Lockstep branch);

  const substitutions::Program& whole() const { return whole_; }
  substitutions::Program take_whole() { return std::move(whole_); }
  /// Of the whole, in order.
  const std::vector<substitutions::Match>& matches() const { return matches_; }

 private:
  int value_in_whole(int value) const;
  std::optional<substitutions::Match> in_whole(const substitutions::Match& match) const;

  substitutions::Program whole_, part_;
  std::vector<int> values_;      ///< of the whole, by value of the part
  std::map<int, int> replaced_;  ///< values of the part, by the roots that they stand for since a step that was taken
  substitutions::Substitutions& rules_;
  std::vector<substitutions::Match> matches_;
};

}  // namespace isomer::search
