// Which CPUs are threads of one core, share their last cache, lie at the same memory. Test:
// tests/util/topology_test.cpp
#pragma once

#include <filesystem>
#include <map>
#include <vector>

namespace isomer {

class Topology {
 public:
  /// As a folder like Linux's /sys/devices/system says. Where it is silent each CPU is a core of its own, and all share
  /// a cache and a memory.
  explicit Topology(const std::filesystem::path& folder);
  static const Topology& of_this_machine();

  /// The first CPU of its core, of those that share its last cache; the number of its memory's node.
  int core(int cpu) const { return place(cpu).core; }
  int cluster(int cpu) const { return place(cpu).cluster; }
  int node(int cpu) const { return place(cpu).node; }

 private:
  struct Place {
    int core = 0, cluster = 0, node = 0;
  };
  Place place(int cpu) const {
    const auto known = places_.find(cpu);
    return known != places_.end() ? known->second : Place{cpu, 0, 0};
  }

  std::map<int, Place> places_;  ///< by CPU
};

/// The CPUs in the order in which threads that work together with one on `first` should take them, itself last: a core
/// each before the second threads of cores; its own cache's, its own memory's, others'; from it on by number.
std::vector<int> near_first(std::vector<int> cpus, int first, const Topology& topology);

}  // namespace isomer
