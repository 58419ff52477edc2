// What `--target` says, and whether this machine runs code for it. Tests: tests/cuda/models_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "kernel/target.h"
#include "util/result.h"

namespace isomer::search {

/// Behind a GPU: factors of products of floats may be rounded to tf32 (kernel/mma.h).
inline constexpr std::string_view kRoundsToTf32 = "+tf32";

/// Whether it begins as one does.
bool is_gpu_target(std::string_view text);

/// "cpu", "cpu=haswell" (kernel::parse_cpu_target); "cuda": the GPU of this machine; "cuda=sm_90a"; "cuda=emulated";
/// of a GPU with kRoundsToTf32 behind it or not.
/// Errors are of kind kUsage; kUnsupported where there is no GPU, or no compiler for it.
Result<kernel::Target> parse_target(std::string_view text);

bool runs_here(const kernel::Target& target);

}  // namespace isomer::search
