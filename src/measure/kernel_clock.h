// How long a kernel takes where it runs in a model: on the threads of a session, behind other kernels that had the
// caches next to the cores, its inputs just written. Test: tests/search/task_timer_test.cpp
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "measure/clock_job.h"
#include "runtime/memory.h"
#include "runtime/workers.h"
#include "util/memory_limit.h"
#include "util/result.h"

namespace isomer {

struct KernelTime {
  double microseconds = 0;  ///< of one of the faster runs: the others suffered from what else the machine does
  int64_t runs = 0;
};

/// Where a kernel finds its weights when its turn comes again.
enum class Weights : uint8_t {
  kInMemory,  ///< in no cache: all others have passed since
  kInCache,   ///< in one that is shared by the cores: the model has few
};
/// In a model that has constants of so many bytes.
Weights weights_in_model(int64_t constant_bytes);

/// No time is hopeless.
inline constexpr double kAnyTime = std::numeric_limits<double>::infinity();

class KernelClock {
 public:
  KernelClock(int threads, Weights weights, MemoryLimit memory = {});

  /// Errors: kUnsupported: no memory; kInvalid: what the kernel reports of any values that were tried.
  Result<KernelTime> time(const ClockJob& job) { return time(job, kAnyTime); }
  /// Where two runs in a row take longer than what is hopeless, no more are made.
  Result<KernelTime> time(const ClockJob& job, double hopeless_us);
  /// What the kernel makes of such inputs, by output. Errors: the same.
  Result<std::vector<std::vector<std::byte>>> outputs(const ClockJob& job, Numbers numbers);

 private:
  /// A thread's frame, on cache lines of its own.
  struct alignas(64) ThreadFrame {
    runtime::Frame frame = {};
  };
  struct Arguments {
    std::vector<void*> buffers;
    std::vector<int64_t*> extents;                            ///< none: no size is decided by data
    std::vector<std::span<const std::byte>> weights, values;  ///< that it reads and does not write
  };
  /// Ways to fill what holds integers, until the kernel takes them.
  enum class Integers : uint8_t { kRandom, kZeros, kOnes };

  Result<Arguments> place(const ClockJob& job);
  static void fill_all(const ClockJob& job, const Arguments& arguments, Integers integers, Numbers numbers);
  Result<void> take_scratch(std::span<const runtime::Part> parts);
  Result<void> warm_up(const ClockJob& job, const Arguments& arguments, const runtime::ExecutableMemory& code,
                       Numbers numbers);
  runtime::Outcome run(const ClockJob& job, const Arguments& arguments, const runtime::ExecutableMemory& code);
  void cool_down(const Arguments& arguments);

  const Weights where_;
  const MemoryLimit memory_;
  const int cpu_;  ///< that the caller was on when the workers were given theirs; -1 where there are not enough for all
  runtime::Workers workers_;
  std::vector<ThreadFrame> frames_;
  std::vector<runtime::Memory> scratch_;  ///< by thread
  runtime::Memory values_;                ///< of the kernel at hand; the next one's lie there too
  using Pass = void (*)(std::span<const std::byte>);
  Pass flush_;           ///< writes back and forgets the lines of caches
  int64_t sweep_bytes_;  ///< of each thread
  runtime::Memory sweep_;
};

}  // namespace isomer
