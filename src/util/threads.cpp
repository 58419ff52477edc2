#include "util/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace isomer {
namespace {

int cpus_by_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

/// The path of this process in the unified (v2) hierarchy, or in the v1 hierarchy of the cpu controller.
std::string cgroup_path(bool unified) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (unified ? controllers == ",," : controllers.find(",cpu,") != std::string::npos) return line.substr(second + 1);
  }
  return "/";
}

std::optional<double> quota_of_group(const std::string& folder, bool unified) {
  double quota = -1, period = 0;
  if (unified) {
    std::ifstream file(folder + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;  // no file, or "max"
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// The least quota of this process's group and the groups around it, in CPUs.
std::optional<double> quota(const std::string& root, bool unified) {
  std::optional<double> least;
  std::string path = cgroup_path(unified);
  while (true) {
    if (const auto cpus = quota_of_group(root + path, unified)) least = std::min(least.value_or(*cpus), *cpus);
    if (path.empty() || path == "/") return least;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

int available_threads() {
  int threads = cpus_by_affinity();
  for (const auto& cpus : {quota("/sys/fs/cgroup", true), quota("/sys/fs/cgroup/cpu", false)})
    if (cpus) threads = std::min(threads, std::max(1, static_cast<int>(std::ceil(*cpus))));
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
