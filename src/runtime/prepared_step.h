// Steps with the pointers that they need already looked up.
#pragma once

#include <vector>

#include "runtime/model.h"
#include "runtime/time_histogram.h"
#include "runtime/value_table.h"

namespace isomer::runtime {

struct PreparedStep;

struct PreparedBody {
  std::vector<PreparedStep> steps;
  const std::vector<Move>* moves = nullptr;
  bool is_staged = false;  ///< a move writes what a later one reads: all are read first
  int64_t runs = 0;
};

struct PreparedStep {
  const Step* step = nullptr;
  // Of a kernel; `buffers` is watched by the table and never moves.
  const Kernel* kernel = nullptr;
  int32_t number = -1;  ///< among the kernel steps of the variant
  std::vector<void*> buffers;
  std::vector<int64_t*> extents;
  const std::vector<int32_t>* arguments = nullptr;
  /// Of a branch (then, else) or a loop.
  std::vector<PreparedBody> bodies;
  /// Steps from this one on that only ask the device for work, kernels and copies of values of known sizes: at least 1.
  size_t span = 1;
  int64_t runs = 0;
  int64_t nanoseconds = 0;
  TimeHistogram times;
};

std::vector<PreparedStep> prepare(const Model& model, const std::vector<Step>& steps, ValueTable& table);
/// The most that a part of these steps asks for.
int64_t scratch_bytes(const Model& model, const std::vector<Step>& steps);

}  // namespace isomer::runtime
