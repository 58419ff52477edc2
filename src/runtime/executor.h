// Runs the steps of a variant over the values of a table.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device.h"
#include "runtime/kernel_runner.h"
#include "runtime/value_table.h"

namespace isomer::runtime {

/// How often a step ran so far and what that took, bodies inside of it included.
struct StepTime {
  const Step* step = nullptr;
  int depth = 0;  ///< in bodies of so many steps
  int64_t runs = 0;
  int64_t nanoseconds = 0;           ///< of all; 0 unless the session is timed
  int64_t median_nanoseconds = 0;    ///< of a run; half of them took longer
  std::vector<int64_t> bodies = {};  ///< how often each of its bodies ran: then and else of a branch, or a loop's
};

class Executor {
 public:
  /// Model, variant, table, device and kernels outlive it. `timed`: reads the clock around each step, and waits for it.
  static Executor create(const Model& model, const Variant& variant, ValueTable& table, Device& device,
                         KernelRunner& kernels, bool timed);
  Executor(Executor&&) noexcept;
  ~Executor();

  /// The error names the step, of kind kInvalid: what the data of the inputs led to; kUnsupported: no memory, or loops
  /// that go on beyond 2^26 iterations; kStopped: stop.h.
  Result<void> run();
  /// In the order of the steps, those of bodies behind their step.
  std::vector<StepTime> times() const;

 private:
  class State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isomer::runtime
