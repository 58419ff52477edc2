// A kernel to be measured, as plain data: it goes from one process to another. Test: tests/measure/worker_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/te/dtype.h"
#include "kernel/loop_nest.h"
#include "measure/kernel_data.h"
#include "runtime/kernel_abi.h"

namespace isomer {

struct ClockJob {
  /// What the kernel reads and does not write is filled; weights and values lie in other caches when its turn comes.
  enum class Use : uint8_t { kNone, kWeight, kValue, kWritten };
  /// One of the kernel's, by number.
  struct Buffer {
    Use use = Use::kNone;  ///< none: no memory of the caller's
    DataType dtype = DataType::kUndefined;
    int64_t bytes = 0;
    IntegerRange range;
    uint64_t seed = 0;  ///< of what it is filled with
  };
  std::vector<Buffer> buffers;
  std::vector<int> outputs;  ///< of the kernel, buffers by number
  std::vector<runtime::Part> parts;
  std::vector<std::byte> code;  ///< to be mapped at a multiple of 64 bytes, readable and executable

  int64_t bytes() const;          ///< of all buffers
  int64_t output_bytes() const;   ///< of those that are outputs
  int64_t scratch_bytes() const;  ///< that each thread needs
};

/// `parts` are the kernel's in `code`. Inputs have the same seeds in all kernels of a task.
ClockJob job_of(const kernel::Kernel& kernel, std::span<const runtime::Part> parts, std::span<const std::byte> code);

}  // namespace isomer
