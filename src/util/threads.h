// The CPUs that this process may use.
#pragma once

#include <sched.h>

namespace isomer {

/// More than any command or session is asked for in earnest.
inline constexpr int kMostThreads = 1024;

/// The CPUs that affinity leaves to this process, reduced to its cgroup's quota (rounded up); at least 1.
int available_threads();

/// That the calling thread is on at the moment; -1 where the system does not say.
int current_cpu();

/// Keeps the calling thread on a CPU as long as it lives; -1, or one that it may not use: wherever it is.
class StayOn {
 public:
  explicit StayOn(int cpu);
  ~StayOn();
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  cpu_set_t before_ = {};
  bool is_moved_ = false;
};

}  // namespace isomer
