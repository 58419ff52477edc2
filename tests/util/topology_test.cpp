// What is read of machines as they describe themselves below /sys/devices/system, and where threads sit on them.
#include "util/topology.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/files.h"
#include "util/temporary_folder.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using test::write_file;
using testing::ElementsAre;
using testing::ElementsAreArray;

/// A machine as its /sys/devices/system has it: the lists of CPUs that share a core and the last cache, of its nodes.
struct Recorded {
  int cpus = 0;
  std::function<std::string(int)> core, second, last;
  std::vector<std::string> nodes;

  void write(const fs::path& folder) const {
    const auto put = [](const fs::path& file, const std::string& text) {
      fs::create_directories(file.parent_path());
      write_file(file, text + "\n");
    };
    put(folder / "cpu" / "cpufreq" / "boost", "1");
    put(folder / "cpu" / "online", fmt::format("0-{}", cpus - 1));
    for (int cpu = 0; cpu < cpus; ++cpu) {
      const fs::path here = folder / "cpu" / fmt::format("cpu{}", cpu);
      put(here / "topology" / "thread_siblings_list", core(cpu));
      const std::vector<std::tuple<int, std::string, std::string>> caches = {{1, "Data", core(cpu)},
                                                                             {1, "Instruction", core(cpu)},
                                                                             {2, "Unified", second(cpu)},
                                                                             {3, "Unified", last(cpu)}};
      for (size_t k = 0; k < caches.size(); ++k) {
        const fs::path cache = here / "cache" / fmt::format("index{}", k);
        put(cache / "level", fmt::to_string(std::get<0>(caches[k])));
        put(cache / "type", std::get<1>(caches[k]));
        put(cache / "shared_cpu_list", std::get<2>(caches[k]));
      }
    }
    for (size_t k = 0; k < nodes.size(); ++k) put(folder / "node" / fmt::format("node{}", k) / "cpulist", nodes[k]);
  }
};

/// Two CPUs of a Xeon, given to a virtual machine.
Recorded virtual_machine() {
  const auto self = [](int cpu) { return fmt::to_string(cpu); };
  return {2, self, self, [](int) { return "0-1"; }, {"0-1"}};
}

/// Two Xeon Gold 6148: 20 cores each, the second threads of all cores behind the first.
Recorded two_sockets() {
  const auto core = [](int cpu) { return fmt::format("{},{}", cpu % 40, cpu % 40 + 40); };
  return {80,
          core,
          core,
          [](int cpu) { return cpu % 40 < 20 ? "0-19,40-59" : "20-39,60-79"; },
          {"0-19,40-59", "20-39,60-79"}};
}

/// An EPYC 7543: 32 cores, a cache for four each.
Recorded complexes() {
  const auto core = [](int cpu) { return fmt::format("{},{}", cpu % 32, cpu % 32 + 32); };
  const auto last = [](int cpu) {
    const int from = cpu % 32 / 4 * 4;
    return fmt::format("{}-{},{}-{}", from, from + 3, from + 32, from + 35);
  };
  return {64, core, core, last, {"0-63"}};
}

/// A Core i7-12700: eight cores of two threads, four of one.
Recorded two_kinds_of_cores() {
  const auto core = [](int cpu) {
    return cpu < 16 ? fmt::format("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1) : fmt::to_string(cpu);
  };
  const auto second = [core](int cpu) { return cpu < 16 ? core(cpu) : "16-19"; };
  return {20, core, second, [](int) { return "0-19"; }, {"0-19"}};
}

Topology read(const Recorded& machine) {
  const auto folder = TemporaryFolder::in_system_folder();
  machine.write(folder->path());
  return Topology(folder->path());
}

std::vector<int> numbers(int from, int to, int step = 1) {
  std::vector<int> result;
  for (int each = from; each < to; each += step) result.push_back(each);
  return result;
}

std::vector<int> operator+(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Topology, OfAVirtualMachine) {
  const Topology topology = read(virtual_machine());
  EXPECT_NE(topology.core(0), topology.core(1));
  EXPECT_EQ(topology.cluster(0), topology.cluster(1));
  EXPECT_THAT(near_first({0, 1}, 0, topology), ElementsAre(1, 0));
  EXPECT_THAT(near_first({0, 1}, 1, topology), ElementsAre(0, 1));
}

TEST(Topology, OfTwoSockets) {
  const Topology topology = read(two_sockets());
  EXPECT_EQ(topology.core(65), 25);
  EXPECT_EQ(topology.cluster(65), 20);
  EXPECT_EQ(topology.node(65), 1);
  EXPECT_EQ(topology.node(45), 0);
  // The other cores of its socket, those of the other, then second threads, of its own socket first.
  EXPECT_THAT(near_first(numbers(0, 80), 3, topology),
              ElementsAreArray(numbers(4, 20) + numbers(0, 3) + numbers(20, 40) + numbers(43, 60) + numbers(40, 43) +
                               numbers(60, 80) + numbers(3, 4)));
  // Not more than affinity allows: here a core's both threads, and one of the other socket's.
  EXPECT_THAT(near_first({5, 45, 70}, 45, topology), ElementsAre(70, 5, 45));
}

TEST(Topology, OfComplexes) {
  const Topology topology = read(complexes());
  EXPECT_EQ(topology.cluster(38), 4);
  EXPECT_EQ(topology.node(38), 0);
  const std::vector<int> seats = near_first(numbers(0, 64), 6, topology);
  EXPECT_THAT(std::vector(seats.begin(), seats.begin() + 3), ElementsAre(7, 4, 5));
  // Neighbours share a cache all the way.
  for (size_t k = 3; k + 4 < 31; k += 4)
    for (size_t other = k; other < k + 4; ++other)
      EXPECT_EQ(topology.cluster(seats[other]), topology.cluster(seats[k]));
  EXPECT_THAT(std::vector(seats.begin() + 31, seats.begin() + 34), ElementsAre(38, 39, 36));
}

TEST(Topology, OfTwoKindsOfCores) {
  EXPECT_THAT(near_first(numbers(0, 20), 0, read(two_kinds_of_cores())),
              ElementsAreArray(numbers(2, 16, 2) + numbers(16, 20) + numbers(1, 16, 2) + numbers(0, 1)));
}

TEST(Topology, OfWhatSaysNothing) {
  const auto folder = TemporaryFolder::in_system_folder();
  const auto expect_plain = [&] {
    const Topology topology(folder->path());
    EXPECT_THAT(near_first({0, 1, 2, 5}, 2, topology), ElementsAre(5, 0, 1, 2));
    EXPECT_EQ(topology.core(5), 5);
    EXPECT_EQ(topology.cluster(5), topology.cluster(0));
    EXPECT_EQ(topology.node(5), 0);
  };
  expect_plain();
  const auto put = [&](const fs::path& file, const std::string& text) {
    fs::create_directories((folder->path() / file).parent_path());
    write_file(folder->path() / file, text);
  };
  put("cpu/cpu5/topology/thread_siblings_list", "");
  put("cpu/cpu5/cache/index3/level", "three");
  put("cpu/cpux/topology/thread_siblings_list", "0-5");
  put("cpu/cpu1/topology/thread_siblings_list", "\n0");
  put("node/node0/cpulist", "-3,7-,a-b,0-1-5");
  expect_plain();
}

}  // namespace
}  // namespace isomer
