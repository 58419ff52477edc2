// Kernels of the runtime's tests: position-independent machine code as a code generator would make it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace isomer::runtime::test {

/// All kernels behind each other.
std::span<const std::byte> machine_code();

/// Where they start in `machine_code`; the buffers that they take. [i]: elements of the part's range.
struct Entries {
  uint64_t add_one;       ///< float x, float y: y[i] = x[i] + 1
  uint64_t add;           ///< float a, float b, float c: c[i] = a[i] + b[i]
  uint64_t range_start;   ///< int64 y: y[i] = where the thread's range starts, by way of its scratch memory
  uint64_t control_word;  ///< int32 y: y[i] = the thread's MXCSR
  uint64_t add_integers;  ///< int64 a, int64 b, int64 c: c = a + b
  uint64_t less;          ///< int64 a, int64 b, bool c: c = a < b
  uint64_t count_up;      ///< int64 n, int64 y (dynamic, rank 1): y = 0, 1, … n-1
  uint64_t extent;        ///< any x (dynamic), int64 y: y = the first extent of x
  uint64_t sine;          ///< double x, double y: y = sin(x), by the frame's table
  uint64_t out_of_range;  ///< nothing: Outcome::kIndexOutOfRange
};
Entries entries();

}  // namespace isomer::runtime::test
