// From CUDA C++ to what a driver loads: machine code of a GPU by NVRTC in a process of its own (`isomer-cubin`), kept
// for the next time by its text; or, for "emulated", a shared library of the CPU. Tests: tests/cuda/models_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernel/codegen_cuda.h"
#include "kernel/codegen_cuda/nvrtc.h"
#include "util/result.h"

namespace isomer::kernel {

/// What code for no GPU is called, which tests/cuda's driver runs.
inline constexpr std::string_view kEmulated = "emulated";

/// `text` stands behind the prelude. Errors (kUnsupported): what the compiler says first, or that there is none, or
/// that it needed more than a minute or 8 GB.
Result<Cubin> compile_cuda(const std::string& text, const std::vector<std::string>& functions, const std::string& arch);

/// Whether there is a compiler for `arch` here; the error says what is missing.
Result<void> find_cuda_compiler(const std::string& arch);

}  // namespace isomer::kernel
