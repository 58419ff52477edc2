// Kernels measured in a process of their own: one that crashes, or never ends, ends that process and no more
// (reliability of tuners: a fault is a result). Test: tests/measure/worker_test.cpp
#pragma once

#include <optional>

#include "measure/kernel_clock.h"
#include "util/worker_process.h"

namespace isomer {

struct MeasuringOptions {
  int threads = 1;
  Weights weights = Weights::kInMemory;
  MemoryLimit memory = {};
  double seconds = 60;  ///< of one kernel, all its runs together
};

/// Starts the program `isomer-measure` when it is first asked, and again after a kernel that ended it; where that
/// program is not beside the running one, this process measures. Not for several threads at once.
class MeasuringWorker {
 public:
  explicit MeasuringWorker(const MeasuringOptions& options) : options_(options) {}

  /// Errors: those of KernelClock; kInvalid for a kernel that crashes or takes too long; kUnsupported where the process
  /// was ended from outside or can't be started; kStopped.
  Result<KernelTime> time(const ClockJob& job, double hopeless_us = kAnyTime);
  /// What the kernel makes of such numbers, by output. Errors: the same.
  Result<std::vector<std::vector<std::byte>>> outputs(const ClockJob& job, Numbers numbers);

 private:
  /// Where kernels run is there from now on.
  Result<void> start();
  /// What the process says to a question; the kernel ended it where it says nothing.
  Result<std::string> ask(const ClockJob& job, std::string_view question);

  const MeasuringOptions options_;
  std::optional<WorkerProcess> process_;
  std::optional<KernelClock> here_;
};

/// What `isomer-measure` does: answers jobs until nobody asks.
void answer_jobs(int threads, Weights weights);

}  // namespace isomer
