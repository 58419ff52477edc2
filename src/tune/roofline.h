// What a machine's limits allow a kernel: the yardstick that nothing measured may beat by much (Williams et al. 2009).
// Test: tests/tune/roofline_test.cpp
#pragma once

#include <cstdint>

#include "kernel/loop_nest.h"
#include "measure/kernel_clock.h"

namespace isomer::tune {

/// Multiply-adds in GFLOP/s; reads in GB/s, of what the second and the last level of cache and memory hold.
struct Peaks {
  static constexpr int64_t kSecond = 1 << 20, kLast = 16 << 20;
  double fma = 0;
  double second = 0, last = 0, memory = 0;
};
/// Takes a second or so.
Peaks measure_peaks(int threads);

/// Microseconds of a kernel as it was lowered, with so many operations; what narrow numbers are computed in is not
/// known, and counts nothing. Constants come from memory, or those of a small
/// model from the last level of cache, and where they fit with the rest from the second; the rest from the least cache
/// that holds it.
double roofline_us(const kernel::Kernel& kernel, int64_t flops, const Peaks& peaks, Weights where);

}  // namespace isomer::tune
