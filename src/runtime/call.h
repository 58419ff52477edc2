// Calls of kernels' machine code.
#pragma once

#include "runtime/kernel_abi.h"
#include "runtime/memory.h"

namespace isomer::runtime {

/// To be preferred, as sanitizers mind calls of machine code elsewhere.
Outcome call(PartFunction function, Frame& frame, int64_t begin, int64_t end);

/// Runs iterations [begin, end) of a part of an image as a session does, denormals flushed.
Outcome call(const ExecutableMemory& image, const Part& part, Frame& frame, int64_t begin, int64_t end);

}  // namespace isomer::runtime
