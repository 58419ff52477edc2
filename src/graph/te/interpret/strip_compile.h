// From nodes to a strip program along one iterator.
#pragma once

#include <vector>

#include "graph/te/interpret/lowered.h"
#include "graph/te/interpret/strip.h"

namespace isomer::te::interpreter {

enum class Results : uint8_t {
  kToOutput,  ///< each to its element of the stage's value
  kToLanes,   ///< one after the other, from each component's sink on; accumulators are read from their sinks
};

/// `storages`: of the lowered stage's buffers. Component k of the program's results is the value of roots[k].
StripProgram compile_strip(const Lowered& lowered, const std::vector<Storage>& storages, const std::vector<int>& roots,
                           int vector, Results results);

/// How nodes behave along an iterator (-1: none).
struct Variance {
  /// The value changes. Comparisons of sums that slots can hold don't count: they are uniform within the parts of a
  /// strip.
  std::vector<bool> varies;
  /// A floor division that doesn't change, of a sum that slots can hold: its value can be added to slots.
  std::vector<bool> is_quotient;

  /// Whether a slot can hold the sum.
  bool fits_slot(const Linear& linear) const;
};
Variance variance(const Lowered& lowered, int vector);

}  // namespace isomer::te::interpreter
