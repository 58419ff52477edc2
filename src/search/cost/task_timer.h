// What tasks cost with their default schedules on this machine: looked up, measured, or estimated. Constants are finite
// numbers to it, whatever they hold. Tests: tests/search/task_timer_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernel/records.h"
#include "measure/kernel_clock.h"
#include "search/code/compile.h"

namespace isomer::search {

/// What tasks share that take equally long.
struct TaskKey {
  Hash128 hash;
  bool is_view = false;  ///< it costs nothing
  auto operator<=>(const TaskKey&) const = default;
};

/// A task in its graph, for as long as both live.
struct TaskOf {
  const Graph* graph;
  const Task* task;
};

/// Not for several threads at once.
class TaskTimer {
 public:
  /// The schedules of `options` are ignored. Both outlive it. `weights` is weights_in_model of the whole model's
  /// constants.
  TaskTimer(const CompileOptions& options, kernel::Records& records, Weights weights = Weights::kInMemory);
  ~TaskTimer();

  /// Of what it was asked about.
  TaskTable& table();

  /// Errors (kUnsupported): a task that runs bodies, one whose sizes data decide.
  Result<TaskKey> key(const Graph& graph, const Task& task);

  /// Microseconds as the records have them; nothing where it was never measured or could not be.
  std::optional<double> known(const TaskKey& key);

  /// Microseconds that the machine's peaks allow: the larger of arithmetic and memory, and what starting a kernel
  /// takes. The peaks are measured once (in a second) and recorded. Errors: as `key`, and of the records.
  Result<double> roofline(const Graph& graph, const Task& task);

  /// Microseconds: what is known, else it is compiled, run and recorded. Errors: as `key`; kUnsupported for code that
  /// is not generated, a target that this is no machine of, or no memory; kInvalid for a kernel that takes no numbers;
  /// those of the records; kStopped. What could not be compiled or run is recorded too, and not tried again.
  Result<double> measure(const Graph& graph, const Task& task);
  /// The same for each of them; equal ones are measured once, several are compiled at a time.
  std::vector<Result<double>> measure(std::span<const TaskOf> tasks);
  /// Whatever is known of them they are measured once more, and the shorter time counts from now on, in the records too
  /// unless tuned times are told by the one that is there: what disturbs a measurement makes it longer. A few times
  /// each, then no more.
  std::vector<Result<double>> measure_again(std::span<const TaskOf> tasks);

  /// What all this took so far.
  struct Statistics {
    int64_t measured = 0, looked_up = 0, failed = 0;
    double preparing_s = 0;  ///< lowering, hashing, scheduling
    double compiling_s = 0;  ///< LLVM
    double running_s = 0;
  };
  const Statistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace isomer::search
