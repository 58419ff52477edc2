// Launches: root nests (or the nests that take turns in an ordered one) whose loops are bound to blocks of threads and
// to threads (loop_nest.h). In its order of time such a nest is plain loops, which is what it means; as a launch, all
// of its blocks run at once, in any order, and in each all threads, which wait for each other at barriers (barriers.h).
//
// A block of the kernel runs in the threads that the loops around it say: where several loops of one axis stand around
// it, the innermost counts. What is left over of an axis computes nothing, but for memory of its own, which all have.
// Tests: tests/kernel/launch_test.cpp
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// Bytes of shared memory that a block of threads has on every target without asking, and if it is asked for.
inline constexpr int64_t kSharedBytes = 48 << 10, kMostSharedBytes = 99 << 10;

/// CUDA's grid: how many there are along x, y and z.
struct Launch {
  std::array<int64_t, 3> blocks = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};
  int64_t threads_of_block() const { return threads[0] * threads[1] * threads[2]; }
  bool operator==(const Launch&) const = default;
};

/// Of a statement that is launched. Of an axis of threads the longest loop counts.
Launch launch_of(const Statement& statement);

/// Where a statement that is launched stands: root number `root` of the kernel, or, where that is an ordered loop of
/// which the statements take turns, the statement number `step` in it.
struct LaunchPlace {
  size_t root = 0;
  std::optional<size_t> step;

  const Statement& in(const Kernel& kernel) const;
  Statement& in(Kernel& kernel) const;
  /// The loop of the turns; nullptr: there is none.
  const Loop* turns(const Kernel& kernel) const;
};
/// In the order in which they run. Statements take turns in an ordered loop of constant extent, where any is bound.
std::vector<LaunchPlace> launches_of(const Kernel& kernel);

/// 0 for x, 1 for y, 2 for z, of a bound loop.
size_t axis_of(LoopKind kind);
/// The loops among those around a block that say which threads compute it, by axis; nullptr: none does.
std::array<const Loop*, 3> threads_around(const std::vector<const Loop*>& loops);

/// Threads of a warp.
inline constexpr int64_t kLanes = 32;
/// The loop over threads that a block reduces over: what the lanes of a warp have is brought together by exchanges
/// between them, and all lanes have the result. nullptr: it reduces over none.
const Loop* lanes_of_reduction(const Block& block, const std::vector<const Loop*>& loops);
/// Why a block that reduces over this loop can't do so between lanes; nothing: it can. The loop is one of 32 threads
/// along x, all that there are along it, and the reduction's only one.
std::optional<std::string> why_not_between_lanes(const Block& block, const Loop& loop);

/// Whether all launches compute what the nests mean, whatever runs first, as long as barriers stand where
/// `with_barriers` puts them: a block has at most 1024 threads; nobody uses what another thread has in memory of its
/// own (own_memory.h); blocks use nothing of arguments that others write; loops of one axis inside of each other do not
/// both decide what is computed; whole warps come to a reduction between their lanes.
Result<void> check_launches(const Kernel& kernel);

}  // namespace isomer::kernel
