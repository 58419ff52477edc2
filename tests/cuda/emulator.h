// Runs the code of CUDA kernels on a CPU and watches it: every access to arguments and shared memory is checked for its
// bounds, for memory that nobody has written, and for races, whatever order threads run in. Two threads of a block race
// where they use one byte between the same two barriers, and one of them writes it; threads of different blocks, where
// they do so in one launch.
#pragma once

#include <filesystem>
#include <span>
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

/// Calls `ask(launch, turn)` for the launches of a kernel in the order in which they run.
template <class Ask>
void for_each_launch(const CudaKernel& code, const Ask& ask) {
  for (std::span<const CudaLaunch> launches = code.launches; !launches.empty();) {
    const auto group = launches.first(1 + static_cast<size_t>(launches[0].followers));
    for (int turn = 0; turn < group[0].turns; ++turn)
      for (const CudaLaunch& launch : group) ask(launch, turn);
    launches = launches.subspan(group.size());
  }
}

/// The outputs of a kernel, of which `begin(b)` gives the first byte of buffer number b.
template <class Begin>
std::vector<Tensor> outputs_of(const Kernel& kernel, const Begin& begin) {
  std::vector<Tensor> outputs;
  for (const int output : kernel.outputs) {
    if (output < 0) {
      outputs.emplace_back();
      continue;
    }
    const Buffer& buffer = kernel.buffers[static_cast<size_t>(output)];
    const std::byte* const first = begin(static_cast<size_t>(output));
    const int64_t bytes = byte_size(buffer.dtype, element_count(buffer.shape).value());
    outputs.emplace_back(buffer.dtype, *constants(buffer.shape), std::vector<std::byte>(first, first + bytes));
  }
  return outputs;
}

/// All launches of a kernel. Absent inputs are tensors of no type.
EmulatedRun emulate(const EmulatedLibrary& library, const Kernel& kernel, const CudaKernel& code,
                    const std::vector<Tensor>& inputs, ThreadOrder order);

}  // namespace isomer::kernel::test
