// What this machine can do at most: the yardstick of benchmarks. Measured in some tenths of a second; other load on the
// machine lowers it. Test: tests/util/machine_peak_test.cpp
#pragma once

#include <cstdint>

namespace isomer {

/// float32 GFLOP/s of multiply-adds on registers alone, on this many threads, with the widest vectors that it has.
double measure_fma_peak(int threads);

/// GB/s that each of so many threads reads of memory of its own of this size, in all.
double measure_read_bandwidth(int64_t bytes, int threads);

/// GB/s, read and written together, at which each of so many threads copies memory of this size (memcpy), in all.
double measure_copy_bandwidth(int64_t bytes, int threads);

}  // namespace isomer
