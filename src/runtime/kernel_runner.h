// Runs kernels on the values of a table: those of the CPU by threads (cpu_kernels.h), those of a GPU by launches
// (cuda/kernels.h).
#pragma once

#include <functional>

#include "runtime/prepared_step.h"
#include "util/result.h"

namespace isomer::runtime {

class KernelRunner {
 public:
  virtual ~KernelRunner() = default;

  /// Of a run of the whole variant.
  virtual void begin() {}
  virtual Result<void> run(const PreparedStep& step) = 0;
  /// Whether it can repeat what steps have asked of the device.
  virtual bool repeats() const { return false; }
  /// Where it can: `enqueue` runs the steps of a span (PreparedStep::span), of which `first` is the first; what they
  /// asked for is repeated instead where no value has moved since.
  virtual Result<void> run_span(const PreparedStep& first, const std::function<Result<void>()>& enqueue) {
    (void)first;
    return enqueue();
  }
  /// Waits for all that was run; the error names the step that failed.
  virtual Result<void> finish() { return {}; }
  /// What the last run took on the device, from its first kernel to its last; 0: not measured.
  virtual double seconds() const { return 0; }
};

/// What a kernel's outcome other than kDone says.
Error failure(Outcome outcome);

}  // namespace isomer::runtime
