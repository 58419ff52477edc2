// Loop nests around strips.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/te/interpret/strip.h"

namespace isomer::te::interpreter {

/// A loop over an iterator, `step` values at once: along the vector axis a step is a strip.
struct Level {
  int iterator;
  int64_t extent;
  int64_t step = 1;
  int64_t count() const { return (extent + step - 1) / step; }
};

inline int64_t points(const std::vector<Level>& levels) {
  int64_t count = 1;
  for (const Level& level : levels) count *= level.count();
  return count;
}

/// A position in a loop nest, outer levels first; it moves the frame's slots along.
class Position {
 public:
  Position(const std::vector<Level>& levels, Frame& frame) : levels_(levels), frame_(frame), at_(levels.size(), 0) {}

  /// From the first point to point `flat`.
  void seek(int64_t flat) {
    for (size_t k = levels_.size(); k-- > 0;) {
      at_[k] = flat % levels_[k].count();
      flat /= levels_[k].count();
      frame_.advance(levels_[k].iterator, at_[k] * levels_[k].step);
    }
  }
  /// To the next point; from the last one to the first, and false.
  bool next() {
    for (size_t k = levels_.size(); k-- > 0;) {
      const Level& level = levels_[k];
      if (++at_[k] < level.count()) {
        frame_.advance(level.iterator, level.step);
        return true;
      }
      frame_.advance(level.iterator, -(at_[k] - 1) * level.step);
      at_[k] = 0;
    }
    return false;
  }
  /// Values of the level's iterator in the present step; 1 for level -1.
  int64_t length(int level) const {
    if (level < 0) return 1;
    return std::min(levels_[level].step, levels_[level].extent - at_[level] * levels_[level].step);
  }

 private:
  const std::vector<Level>& levels_;
  Frame& frame_;
  std::vector<int64_t> at_;
};

}  // namespace isomer::te::interpreter
