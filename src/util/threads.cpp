#include "util/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "util/cgroup.h"

namespace isomer {
namespace {

int cpus_by_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Of a group in the unified hierarchy or in that of the cpu controller; nothing where it has no quota.
std::optional<double> quota_of_group(const std::string& folder) {
  double quota = -1, period = 0;
  if (std::ifstream unified(folder + "/cpu.max"); unified) {
    if (!(unified >> quota >> period)) return std::nullopt;  // "max"
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

int available_threads() {
  int threads = cpus_by_affinity();
  for (const std::string& folder : cgroup_folders("cpu"))
    if (const auto cpus = quota_of_group(folder))
      threads = std::min(threads, std::max(1, static_cast<int>(std::ceil(*cpus))));
  return threads;
}

int current_cpu() { return sched_getcpu(); }

StayOn::StayOn(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  is_moved_ = sched_setaffinity(0, sizeof only, &only) == 0;
}

StayOn::~StayOn() {
  if (is_moved_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace isomer
