// Kernels measured in a process of their own: one that crashes, or never ends, ends that process and no more
// (reliability of tuners: a fault is a result). Test: tests/measure/worker_test.cpp
#pragma once

#include <optional>

#include "measure/kernel_clock.h"
#include "util/memory_limit.h"
#include "util/worker_process.h"

namespace isomer {

struct MeasuringOptions {
  int threads = 1;
  Weights weights = Weights::kInMemory;
  MemoryLimit memory = {};
  double seconds = 60;  ///< of a core, or of so many as there are threads: of one kernel, all its runs together
};

/// Starts the program `isomer-measure` when it is first asked, and again after a kernel with a fault, which may have
/// left anything behind; where that program is not beside the running one, a copy of this process. Not for several
/// threads at once.
class MeasuringWorker {
 public:
  explicit MeasuringWorker(const MeasuringOptions& options) : options_(options) {}

  /// Errors: kUnsupported where there is not enough memory, or the process was ended from outside, twice, or can't be
  /// started, is of another build or has fewer threads; kStopped.
  Result<Measured> time(const ClockJob& job, double hopeless_us = kAnyTime);
  /// What the kernel makes of such numbers, as KernelClock has it. Errors: the same.
  Result<KernelOutputs> outputs(const ClockJob& job, Numbers numbers);

 private:
  /// Where kernels run is there from now on, and has told that it can.
  Result<void> start();
  /// Starts it; what it says first.
  Result<WorkerProcess::Reply> begin();
  /// What is found, in the source file's terms.
  template <class Finding, class Question>
  Result<Finding> ask(Question question);

  const MeasuringOptions options_;
  std::optional<WorkerProcess> process_;
  int64_t asked_ = 0;  ///< questions
};

/// What `isomer-measure` does: tells that it is ready where it is asked first, then answers jobs until nobody asks. The
/// machine code of kernels can't ask the system for anything from then on, where the system can forbid it.
void answer_jobs(int threads, Weights weights);

}  // namespace isomer
