// Both sides of a law at an instance, in float32: where they differ, and what that says of the law's class.
#pragma once

#include "verify/proof/refute/check_instance.h"

namespace isomer::verify {

/// By variable, in the order of their names.
using FloatInputs = std::vector<std::vector<float>>;

class FloatSides {
 public:
  /// Its tensors become float32, but for one that is bool where nothing else fits (a condition). Where elements
  /// `are_lanes` each output's element is made of the inputs' elements of its index alone: one that is not finite says
  /// nothing of the others. Nothing where a side takes no floats.
  static std::optional<FloatSides> make(LawInstance instance, bool are_lanes);

  const LawInstance& instance() const { return instance_; }
  /// Elements of each variable.
  const std::vector<int64_t>& counts() const { return counts_; }

  /// By element, the strongest class that it doesn't contradict: kUnsafe where inputs are at most 1000 and one side
  /// only is finite. Nothing where a side cannot be evaluated.
  std::optional<std::vector<FloatClass>> compare(const FloatInputs& inputs) const;

  /// By element: whether what rounding can make of the two sides overlaps. Nothing where rounding has no bound.
  std::optional<std::vector<bool>> overlaps(const FloatInputs& inputs) const;
  /// Whether changing the first element of all inputs changes no other element of anything that is computed.
  bool has_lanes() const;
  Counterexample counterexample(const FloatInputs& inputs) const;

 private:
  FloatSides(LawInstance instance, Graph graph, bool are_lanes);

  LawInstance instance_;
  Graph graph_;  ///< outputs: the sides, then every application in them
  std::vector<int64_t> counts_;
  bool are_lanes_;
};

}  // namespace isomer::verify
