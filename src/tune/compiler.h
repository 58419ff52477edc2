// Machine code of candidates, made in copies of this process: where the code generator crashes, never returns or takes
// all memory, that is the candidate's fault and no more. Test: tests/tune/compiler_test.cpp
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "kernel/codegen_llvm.h"
#include "measure/clock_job.h"

namespace isomer::tune {

struct CompilerOptions {
  /// A code generator; tests plant others.
  std::function<Result<kernel::MachineCode>(const kernel::Kernel&, const kernel::CpuTarget&)> make =
      [](const kernel::Kernel& kernel, const kernel::CpuTarget& target) { return kernel::compile(kernel, target); };
  double seconds = 30;                          ///< of a core, for one kernel
  int64_t memory_bytes = int64_t{4} << 30;      ///< that a copy may take beside what this process has
  int64_t most_code_bytes = int64_t{16} << 20;  ///< of one kernel
};

class Compiler {
 public:
  explicit Compiler(kernel::CpuTarget target, CompilerOptions options = {})
      : target_(std::move(target)), options_(std::move(options)) {}

  /// Code for each of them, on all cores; where the system makes no copy of this process, it is made here. Errors:
  /// kUnsupported: what is wrong with the candidate; kStopped.
  std::vector<Result<ClockJob>> compile(std::span<const kernel::Kernel* const> kernels) const;

 private:
  Result<kernel::MachineCode> made(const kernel::Kernel& kernel) const;

  kernel::CpuTarget target_;
  CompilerOptions options_;
};

}  // namespace isomer::tune
