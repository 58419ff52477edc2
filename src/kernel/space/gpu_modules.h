// The modules that make default schedules for a GPU, each in a source of its own.
#pragma once

#include "kernel/launch.h"
#include "kernel/space/module.h"

namespace isomer::kernel {

/// Sums of products with reuse: tiles of results in the registers of a thread, those of a block of threads from
/// operands in shared memory (Volkov, Demmel 2008; as convolutions, over windows with their halo).
Module gpu_products();
/// Long reductions of few results: the threads of a block reduce one together.
Module gpu_rows();
/// What is left: a thread for each result, neighbours for neighbours.
Module gpu_points();

/// The default space for a GPU, in order.
const Space& gpu_space();

/// Bytes of registers that sums of a thread may take.
inline constexpr int64_t kSumBytes = 512;
/// What buffers of a scope take in the end.
int64_t bytes_of(const Schedule& schedule, Scope scope);

}  // namespace isomer::kernel
