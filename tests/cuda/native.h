// Runs the code of CUDA kernels on the GPU of this machine, where $ISOMER_TEST_GPU asks for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/emulator.h"
#include "runtime/cuda/gpu.h"

namespace isomer::kernel::test {

/// Whether tests of CUDA code are to run on this machine's GPU instead of the emulator.
bool is_native_run();

/// A module of machine code, loaded as long as it lives.
class NativeModule {
 public:
  /// Of an EmulatedLibrary's code. Throws std::runtime_error with what the compiler or the driver said.
  NativeModule(const std::string& text, const std::vector<std::string>& functions);
  ~NativeModule();
  NativeModule(const NativeModule&) = delete;
  NativeModule& operator=(const NativeModule&) = delete;

  runtime::cuda::Function function(const CudaLaunch& launch) const;

 private:
  runtime::cuda::Module module_ = nullptr;
};

/// All launches of a kernel, on memory with margins that nobody may touch and with outputs that hold no zeros before.
EmulatedRun run_natively(const NativeModule& module, const Kernel& kernel, const CudaKernel& code,
                         const std::vector<Tensor>& inputs);

/// Code of kernels with what runs it here: the emulator, in both orders of threads, or the GPU.
class RunnableCode {
 public:
  RunnableCode(const std::string& text, const std::vector<std::string>& functions);
  std::vector<EmulatedRun> run(const Kernel& kernel, const CudaKernel& code, const std::vector<Tensor>& inputs) const;

 private:
  std::unique_ptr<EmulatedLibrary> library_;
  std::unique_ptr<NativeModule> module_;
};

}  // namespace isomer::kernel::test
