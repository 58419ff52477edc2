// Which numbers of a candidate trees see: ours, and those of AutoTVM (Chen et al. 2018, section 3.1) to compare with.
// Test: tests/tune/feature_kinds_test.cpp
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "kernel/machine.h"
#include "tune/candidates.h"
#include "tune/trees.h"

namespace isomer::tune {

enum class FeatureKind {
  kNest,     ///< caches, tiles, vectors of all blocks (features.h)
  kKnob,     ///< decisions as they were taken, each in a column that its name chooses
  kItervar,  ///< the loops of the block of most points: length, level, kind, iterations around and within; what
             ///< accesses touch from there on, and how often
  /// Relations between what the loops of that block touch, how often, and how often they run: samples of each curve at
  /// powers of two. AutoTVM as it was released samples at 1 alone, since a flag was read where a number was meant;
  /// "all" takes the 20 samples that were meant.
  kCurve,
  kCurveAll,
};

inline constexpr std::array kFeatureKinds = {FeatureKind::kNest, FeatureKind::kKnob, FeatureKind::kItervar,
                                             FeatureKind::kCurve, FeatureKind::kCurveAll};

/// "nest", "knob", "itervar", "curve", "curve-all".
std::string_view name(FeatureKind kind);
std::optional<FeatureKind> feature_kind_of(std::string_view name);

/// Of one kind as long as all others. NaN: there is no such number.
Row row_of(FeatureKind kind, const Candidate& candidate, const kernel::Machine& machine);

}  // namespace isomer::tune
