// From a task to the kernel that runs it, as `compile` and whoever measures tasks do it. Tests:
// tests/search/compile_test.cpp
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernel/default_schedule.h"
#include "kernel/space/module.h"
#include "search/constant_parts.h"
#include "search/task.h"

namespace isomer {

/// A task before it is scheduled, or what it is a view of.
struct PreparedTask {
  int view_of = -1;  ///< then there is no kernel
  std::optional<kernel::Kernel> lowered;
  std::optional<kernel::Schedule> schedule;  ///< with the task's layouts
};

/// Of a task with a program. `constants` are numbers of inputs. Tasks whose kernels print alike are equal and share
/// one. Errors (kUnsupported): sizes that data decide, by the name of the task's first node.
Result<PreparedTask> prepare(const Graph& graph, const Task& task, const std::set<int>& constants,
                             const kernel::MicroKernels& micro_kernels = {});

/// Which inputs of a task are constants, by number: those without infinities and NaN, so that what kernels do to them
/// beforehand (products with zeros of a padding) is what they would do each time. Looks at each constant once.
class ConstantInputs {
 public:
  std::set<int> of(const Graph& graph, const Task& task);

 private:
  bool is_finite(const Tensor& tensor);
  /// By the bytes, which stay while they are here.
  std::map<std::pair<const std::byte*, size_t>, std::pair<Tensor, bool>> known_;
};

/// Floating-point operations of a kernel as it was lowered: twice the products of sums, once everything else.
int64_t count_flops(const kernel::Kernel& kernel);
/// Bytes that it must read of inputs and write of outputs at least once.
double count_bytes(const kernel::Kernel& kernel);

/// A kernel that has been scheduled, what depends on constants alone moved out of it.
struct ScheduledTask {
  kernel::Trace trace;
  kernel::Kernel kernel;
  ConstantParts constants;
  int64_t flops = 0;
  std::vector<kernel::Builder::Made> choices;  ///< that led to it, as far as they are known
};

ScheduledTask finish(const kernel::Schedule& schedule, int64_t flops);

}  // namespace isomer
