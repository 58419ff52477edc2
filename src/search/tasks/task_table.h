// Tasks by what they compute: equal ones are one, and it is lowered once, whoever asks: layouts, times, schedules
// (DESIGN.md 7). Test: tests/search/task_table_test.cpp
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "kernel/schedule.h"
#include "search/tasks/task.h"

namespace isomer::search {

/// What equal tasks share.
struct LoweredTask {
  int view_of = -1;        ///< the input whose elements it only renames: then there is nothing to run
  kernel::Schedule start;  ///< with the layouts of inputs and outputs; nothing else is decided
  std::string meaning;     ///< what it computes, as text (kernel/task_text.h)
  Hash128 hash = {};       ///< of the kernel as text: what records know it by
  int64_t flops = 0;       ///< twice the products of sums, once everything else
  double bytes = 0;        ///< that it must read of inputs and write of outputs at least once
  bool is_open = false;    ///< data decide sizes of it: it is neither measured nor scheduled
};

/// Not for several threads at once.
class TaskTable {
 public:
  /// `micro_kernels`: that schedules may use.
  explicit TaskTable(kernel::MicroKernels micro_kernels = {}) : micro_kernels_(std::move(micro_kernels)) {}

  /// Of a task with a program, for as long as the table lives; tasks whose kernels print alike have the same. Constants
  /// are those without infinities and NaN, so that what kernels do to them beforehand (products with zeros of a
  /// padding) is what they would do each time. Errors (kUnsupported): a value without a shape; a size that is not
  /// known, by the name of the task's first node.
  Result<const LoweredTask*> lowered(const Graph& graph, const Task& task);

 private:
  std::set<int> finite_constants(const Graph& graph, const Task& task);
  bool is_finite(const Tensor& tensor);
  Result<const LoweredTask*> lower(const Graph& graph, const Task& task, const std::set<int>& constants);
  Result<const LoweredTask*> lay_out(const LoweredTask& row_major, const Task& task);
  const LoweredTask* add(LoweredTask task);

  kernel::MicroKernels micro_kernels_;
  std::map<std::string, const LoweredTask*> by_program_;  ///< what is known without lowering
  std::map<std::string, std::unique_ptr<const LoweredTask>> by_kernel_;
  /// By the bytes of constants, which stay while they are here.
  std::map<std::pair<const std::byte*, size_t>, std::pair<Tensor, bool>> are_finite_;
};

}  // namespace isomer::search
