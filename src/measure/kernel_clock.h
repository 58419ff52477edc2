// How long a kernel takes where it runs in a model: on the threads of a session, behind other kernels that had the
// caches next to the cores, its inputs just written. Tests: tests/search/task_timer_test.cpp,
// tests/measure/guards_test.cpp
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "measure/clock_job.h"
#include "measure/fault.h"
#include "measure/guarded_memory.h"
#include "runtime/memory.h"
#include "runtime/workers.h"
#include "util/result.h"

namespace isomer {

/// What a kernel made of its inputs, or what was wrong with it.
struct KernelOutputs {
  Fault fault = Fault::kNone;
  std::string why;                             ///< of a fault
  std::vector<std::vector<std::byte>> values;  ///< where there is none: by output
};
/// Beyond the ends of a kernel's buffers, those of `job` and then the threads' scratch memory.
std::string sentence(const ClockJob& job, const Trespass& trespass);

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
  KernelClock(int threads, Weights weights);
  /// That kernels run on: fewer than asked for where the system refuses some.
  int threads() const { return workers_.threads(); }
  /// Of memory that it has whatever it measures.
  static int64_t own_bytes(int threads);

  /// Where two runs in a row take longer than what is hopeless, no more are made. Errors (kUnsupported): no memory.
  Result<Measured> time(const ClockJob& job, double hopeless_us = kAnyTime);
  /// What the kernel makes of such inputs. It runs twice: its memory lies between pages that can't be touched, now at
  /// the one end and now at the other, `tell` (GuardWatch) is called where it does; nothing but outputs has changed
  /// then, and they are the same, whatever was in them and around them before. What lies behind a buffer up to a
  /// multiple of the alignment it may read, as long as nothing depends on it. Errors: as above.
  Result<KernelOutputs> outputs(const ClockJob& job, Numbers numbers, GuardWatch::Tell tell);

 private:
  /// A thread's frame, on cache lines of its own.
  struct alignas(64) ThreadFrame {
    runtime::Frame frame = {};
  };
  struct Arguments {
    std::vector<void*> buffers;
    std::vector<int64_t*> extents;                            ///< none: no size is decided by data
    std::vector<std::byte*> scratch;                          ///< by thread
    std::vector<std::span<const std::byte>> weights, values;  ///< that it reads and does not write
    std::vector<std::span<std::byte>> between;                ///< two buffers
  };
  /// Ways to fill what holds integers, until the kernel takes them.
  enum class Integers : uint8_t { kRandom, kZeros, kOnes };
  struct FirstRun {
    runtime::Outcome outcome = runtime::Outcome::kDone;
    Integers integers = Integers::kRandom;
  };

  Result<Arguments> place(const ClockJob& job);
  static IntegerRange range_of(const ClockJob::Buffer& buffer, Integers integers);
  static void fill_all(const ClockJob& job, const Arguments& arguments, Integers integers, Numbers numbers);
  Result<void> take_scratch(int64_t bytes);
  /// With the first integers that the kernel takes, or the last that it does not take.
  FirstRun warm_up(const ClockJob& job, const Arguments& arguments, const runtime::ExecutableMemory& code,
                   Numbers numbers);
  runtime::Outcome run(const ClockJob& job, const Arguments& arguments, const runtime::ExecutableMemory& code);
  /// Once, in such memory.
  Result<KernelOutputs> outputs_in(const ClockJob& job, Numbers numbers, const runtime::ExecutableMemory& code,
                                   Flush flush, std::byte poison, GuardWatch::Tell tell);
  void cool_down(const Arguments& arguments);

  const Weights where_;
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
