// CUDA C++ of kernels, readable and self-contained: it includes nothing, so NVRTC compiles it as it is, and so does a
// C++ compiler behind a header that says what CUDA's keywords mean on a CPU (tests/cuda). Tests: tests/cuda.
#pragma once

#include <string>
#include <vector>

#include "kernel/launch.h"
#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// One `__global__` function: the code of a root statement, or of a statement in one whose statements take turns.
struct CudaLaunch {
  std::string function;
  Launch launch;
  /// Arguments of the kernel, by number, whose addresses the function takes after that of the error word (int32, which
  /// becomes the largest runtime::Outcome that a thread met), in this order; behind them its turn, an int32, where
  /// `takes_turn`.
  std::vector<int> buffers;
  bool takes_turn = false;
  int64_t turns = 1;         ///< how often it is launched, and with it, after it, in each turn
  int64_t followers = 0;     ///< the next launches of the kernel, whose own turns don't count
  int64_t shared_bytes = 0;  ///< of a block of threads
  /// Those that a launch has to ask for: 0 where every block has so many.
  int64_t asked_bytes() const { return shared_bytes > kSharedBytes ? shared_bytes : 0; }
};

struct CudaKernel {
  std::string text;  ///< of the functions, to be compiled behind `cuda_prelude()`
  std::vector<CudaLaunch> launches;
};

/// `kernel` as `Schedule::finish` gives it; its functions are called `prefix` and a number. What is not bound runs in
/// one thread. Errors: of `with_barriers`; of kind kUnsupported where a construct has no code.
Result<CudaKernel> emit_cuda(const Kernel& kernel, const std::string& prefix);

/// What the code of all kernels is written with: names of types, operations of tensor expressions with their meaning at
/// the edges (integers wrap around, minimum and maximum propagate NaN, reals that no int32 or int64 holds become the
/// least one).
std::string_view cuda_prelude();

/// `text`, the code behind the prelude, as C++ of a shared library that runs it on a CPU: behind what CUDA's keywords
/// mean there, and with `emulated_NAME`, which takes a function's arguments as cuLaunchKernel does, and
/// `parameters_NAME`, their sizes to the first 0, for each of its functions. Whoever loads it (tests/cuda) has its
/// threads and barriers.
std::string emulated_source(const std::string& text, const std::vector<std::string>& functions);

}  // namespace isomer::kernel
