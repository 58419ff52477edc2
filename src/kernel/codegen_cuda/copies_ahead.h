// Which copies to shared memory a loop may ask for an iteration ahead: their elements come into registers while a tile
// is computed, and go to shared memory when all threads are done with it (register prefetching; the loop is marked with
// kAhead). What the loop means stays. Tests: tests/cuda/space_test.cpp
#pragma once

#include <set>
#include <vector>

#include "kernel/launch.h"

namespace isomer::kernel::cuda {

struct CopyAhead {
  const Statement* statement = nullptr;
  int target = -1;  ///< buffer
  DataType dtype = DataType::kUndefined;
  int64_t count = 0;                             ///< elements of a thread
  std::vector<std::pair<int, int64_t>> strides;  ///< between them, by variable of a loop
};

struct CopiesAhead {
  std::vector<CopyAhead> copies;
  size_t begin = 0, end = 0;  ///< of the loop's statements
};

/// The copies that a loop begins with, before the barrier behind which they are used; none: it has no such form.
/// `written`: what the launch writes.
CopiesAhead copies_ahead(const Kernel& kernel, const Launch& launch, const std::set<int>& written, const Loop& loop);

/// How many places what the loop copies has, by kStages; 1: others than the loop use it, or write it.
int64_t stages_of(const Statement& launched, const Loop& loop, const CopiesAhead& ahead);

}  // namespace isomer::kernel::cuda
