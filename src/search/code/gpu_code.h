// Kernels as modules of a GPU and launches of their functions. Tests: tests/cuda/sessions_test.cpp
#pragma once

#include <string>
#include <vector>

#include "kernel/loop_nest.h"
#include "runtime/artifact.h"
#include "util/result.h"

namespace isomer::search {

struct GpuCode {
  std::vector<runtime::Module> modules;
  std::vector<runtime::Kernel> kernels;  ///< in the order of those that it was made of
};

/// Several kernels a module, several modules at a time.
Result<GpuCode> gpu_code(const std::vector<const kernel::Kernel*>& kernels, const std::string& arch, int threads);

}  // namespace isomer::search
