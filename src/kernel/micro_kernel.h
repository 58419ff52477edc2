// Micro-kernels: code that someone else wrote for a tile of a sum of products, described by what it computes (tensor
// intrinsics: Feng et al. 2023, section 4.1). `tensorize` marks the loops that it replaces; they stay, and stay the
// tile's meaning. Tests: tests/kernel/micro_kernel_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// c[i, j] += sum over k < depth of a[i, k] * b[k, j], for all i < rows, j < columns, of float32. 1 x 1: a dot product.
struct MicroKernel {
  /// From an operand's element to the next: in elements; nothing: whatever the argument says.
  struct Steps {
    std::optional<int64_t> first, second;
  };
  std::string name;  ///< as `tensorize` calls it: letters, digits, '_' and '.', a letter first
  int64_t rows = 1, columns = 1;
  int64_t depth = 0;               ///< 0: any, told by an argument
  Steps a, b, c;                   ///< along i and k, k and j, i and j
  std::vector<std::string> needs;  ///< of the CPU, as CpuTarget::extensions calls it
  /// LLVM's assembly of one function, `void (ptr a, i64, i64, ptr b, i64, i64, ptr c, i64, i64, i64 depth)`, behind
  /// each pointer the steps of its operand. It calls intrinsics alone.
  std::string text;
};

/// "a sum of products over 8 rows, 32 columns and any depth".
std::string describe(const MicroKernel& micro_kernel);
/// Of those that are offered to a kernel; nothing is wrong with them themselves.
Result<void> check_names(const MicroKernels& micro_kernels);

/// A tile that a micro-kernel computes: what stands in a loop that is marked with it.
struct MicroKernelCall {
  const MicroKernel* micro_kernel = nullptr;
  const Block* block = nullptr;
  std::vector<const Loop*> loops;  ///< those of the tile, outermost first
  bool is_swapped = false;         ///< the product's left factor is b
  std::array<int64_t, 2> a, b, c;  ///< steps; where there is one element only, as described, or 0
  int64_t depth = 1;
};

/// What the micro-kernel would compute in place of the loop, with the loops around it (outermost first). Errors: it
/// computes something else. Where a thread's own buffers lie is seen only in what `Schedule::finish` gives.
Result<MicroKernelCall> micro_kernel_call(const Kernel& kernel, const MicroKernel& micro_kernel, const Loop& loop,
                                          const std::vector<const Loop*>& around, bool is_finished);

/// The micro-kernel of a loop that is marked; nullptr: it is not.
const MicroKernel* micro_kernel_of(const Kernel& kernel, const Loop& loop);
/// Whether what stands in marked loops is still what their micro-kernels compute.
Result<void> check_micro_kernels(const Kernel& kernel);

}  // namespace isomer::kernel
