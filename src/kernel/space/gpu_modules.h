// The modules that make default schedules for a GPU, each in a source of its own.
#pragma once

#include "kernel/launch.h"
#include "kernel/space/module.h"

namespace isomer::kernel {

/// What windows that overlap share in sums of products with reuse is copied for each, place by place and step by step:
/// the sum is a product of matrices then (implicit GEMM: Chetlur et al. 2014, section 3).
Module gpu_windows();
/// Sums of products with reuse: tiles of results in the registers of a thread, those of a block of threads from
/// operands in shared memory (Volkov, Demmel 2008; as convolutions, over windows with their halo).
Module gpu_products();
/// Long reductions of few results: the threads of a block reduce one together.
Module gpu_rows();
/// Maps that read along one axis and write along another: tiles in shared memory, read and written row by row.
Module gpu_transposes();
/// What is left: a thread for each result, neighbours for neighbours.
Module gpu_points();

/// The default space for a GPU, in order.
const Space& gpu_space();

/// Makes a reduction sum up in a buffer of its own, to be held in registers; what was its block copies that into the
/// result, as the only map that reads this, if there is one, would have stored it. The block that sums.
Result<std::string> sum_apart(Builder& builder, const std::string& name);

/// Bytes of registers that sums of a thread may take.
inline constexpr int64_t kSumBytes = 512;
/// What buffers of a scope take in the end.
int64_t bytes_of(const Schedule& schedule, Scope scope);

}  // namespace isomer::kernel
