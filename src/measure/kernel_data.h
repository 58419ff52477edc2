// Something to measure kernels on. Test: tests/search/task_timer_test.cpp
#pragma once

#include <map>
#include <set>
#include <span>

#include "kernel/loop_nest.h"

namespace isomer {

/// The caller's buffers that a kernel reads or writes.
std::set<int> used_arguments(const kernel::Kernel& kernel);

/// By buffer whose elements are part of indices: the least extent of an axis that they index.
std::map<int, int64_t> index_bounds(const kernel::Kernel& kernel);

/// Both ends are in it.
struct IntegerRange {
  int64_t low = 0, high = 0;
};
/// What floats are filled with.
enum class Numbers : uint8_t {
  kReals,     ///< between 0.1 and 0.9
  kIntegers,  ///< from -2 to 2: sums of their products are exact in any order
};
/// Seeded values: floats, integers of the range, bools where it holds 0 and 1. Types without arithmetic get zeros.
void fill(std::span<std::byte> bytes, DataType dtype, IntegerRange range, uint64_t seed,
          Numbers numbers = Numbers::kReals);
/// Whether they are what `fill` makes them.
bool is_filled(std::span<const std::byte> bytes, DataType dtype, IntegerRange range, uint64_t seed, Numbers numbers);

}  // namespace isomer
