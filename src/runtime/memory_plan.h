// Where the values of a plan lie in one arena: lifetimes packed so that what is not alive at one time may share a
// place.
#pragma once

#include <cstdint>
#include <vector>

namespace isomer::runtime {

/// Alive in all steps of [first_step, last_step].
struct Lifetime {
  int64_t bytes = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  ///< by number of the lifetime; multiples of 64
  int64_t arena_bytes = 0;
};

/// Lifetimes that share a step never share a byte. Tries several orders of greedy best-fit placement (Pisarchyk and
/// Lee, 2020: by size, by breadth) and keeps the smallest arena; NP-hard in general. Deterministic.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

/// The most bytes alive in one step, each rounded up to 64: no plan is smaller.
int64_t least_arena(const std::vector<Lifetime>& lifetimes);

}  // namespace isomer::runtime
