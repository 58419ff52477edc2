// The emulated GPU (fake_driver.cpp) as this process's, and graphs compiled for it.
#pragma once

#include <cstdlib>

#include "search/compiled.h"

namespace isomer::test {

/// To be called before anything looks for a GPU.
inline void use_fake_gpu() { setenv("ISOMER_CUDA_DRIVER", ISOMER_FAKE_DRIVER, 1); }

inline Result<search::Compilation> compiled_for_gpu(const Graph& graph) {
  search::CompileOptions options;
  options.target = kernel::CudaTarget{"emulated"};
  for_gpu(options);
  return compile(graph, options);
}

}  // namespace isomer::test
