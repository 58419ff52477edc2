// Runs the code of CUDA kernels on a CPU and watches it: every access to arguments and shared memory is checked for its
// bounds, for memory that nobody has written, and for races, whatever order threads run in. Two threads of a block race
// where they use one byte between the same two barriers, and one of them writes it; threads of different blocks, where
// they do so in one launch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cuda/block_of_threads.h"
#include "graph/tensor.h"
#include "kernel/codegen_cuda.h"

namespace isomer::kernel::test {

/// A library of emulated code, as long as it lives.
class EmulatedLibrary {
 public:
  /// `text`: the code behind the prelude, with the functions of these names. Throws std::runtime_error with what the
  /// compiler said where it takes none of it.
  EmulatedLibrary(const std::string& text, const std::vector<std::string>& functions);
  ~EmulatedLibrary();
  EmulatedLibrary(const EmulatedLibrary&) = delete;
  EmulatedLibrary& operator=(const EmulatedLibrary&) = delete;

  using Entry = void (*)(void** arguments);
  Entry entry(const std::string& function) const;
  /// Its writable memory: where shared buffers lie.
  const std::vector<std::pair<std::byte*, std::byte*>>& shared() const { return shared_; }

 private:
  void* handle_ = nullptr;
  std::vector<std::pair<std::byte*, std::byte*>> shared_;
};

struct EmulatedRun {
  std::vector<Tensor> outputs;        ///< empty ones for outputs that the task does not have
  int outcome = 0;                    ///< of the error word
  std::vector<std::string> findings;  ///< races, accesses out of bounds, memory not written, missed barriers
};

/// All launches of a kernel. Absent inputs are tensors of no type.
EmulatedRun emulate(const EmulatedLibrary& library, const Kernel& kernel, const CudaKernel& code,
                    const std::vector<Tensor>& inputs, ThreadOrder order);

}  // namespace isomer::kernel::test
