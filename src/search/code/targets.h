// What `--target` says, and whether this machine runs code for it. Tests: tests/cuda/models_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "kernel/target.h"
#include "util/result.h"

namespace isomer::search {

/// "cpu", "cpu=haswell" (kernel::parse_cpu_target); "cuda": the GPU of this machine; "cuda=sm_90a"; "cuda=emulated".
/// Errors are of kind kUsage; kUnsupported where there is no GPU, or no compiler for it.
Result<kernel::Target> parse_target(std::string_view text);

bool runs_here(const kernel::Target& target);

}  // namespace isomer::search
