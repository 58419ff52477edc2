// Times of many runs in little memory, for what a mean says nothing of: a run that was interrupted takes any time.
// Test: tests/runtime/session_test.cpp
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace isomer::runtime {

/// Counts by length, 128 bins to each power of two: within 1 of 128 it says how long.
class TimeHistogram {
 public:
  void add(int64_t nanoseconds) {
    const size_t bin = bin_of(static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 0)));
    if (bin >= counts_.size()) counts_.resize(bin + 1);
    ++counts_[bin];
    ++count_;
  }

  /// Of all that were added; 0 where there are none.
  int64_t median() const {
    int64_t passed = 0;
    for (size_t bin = 0; bin < counts_.size(); ++bin) {
      passed += counts_[bin];
      if (2 * passed >= count_ && count_ > 0) return static_cast<int64_t>((least_of(bin) + least_of(bin + 1)) / 2);
    }
    return 0;
  }

 private:
  static constexpr int kBits = 7;  ///< that tell bins of one length in bits apart

  static size_t bin_of(uint64_t time) {
    const int shift = std::max(static_cast<int>(std::bit_width(time)) - (kBits + 1), 0);
    return (static_cast<size_t>(shift) << kBits) + static_cast<size_t>(time >> shift);
  }
  static uint64_t least_of(size_t bin) {
    const size_t shift = bin < (size_t{2} << kBits) ? 0 : (bin >> kBits) - 1;
    return static_cast<uint64_t>(bin - (shift << kBits)) << shift;
  }

  std::vector<int64_t> counts_;
  int64_t count_ = 0;
};

}  // namespace isomer::runtime
