#include "util/topology.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "util/parse_number.h"
#include "util/split.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

std::optional<int> number(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::string line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

/// "0-3,8": from and to, inclusive.
std::vector<std::pair<int, int>> ranges(const std::string& list) {
  std::vector<std::pair<int, int>> result;
  for (const std::string_view each : split(list, ",")) {
    const auto ends = split(each, "-");
    const auto from = number(ends.front()), to = number(ends.back());
    if (ends.size() <= 2 && from && to) result.emplace_back(*from, *to);
  }
  return result;
}

std::optional<int> first_of(const fs::path& list) {
  const auto all = ranges(line_of(list));
  return all.empty() ? std::nullopt : std::optional(all.front().first);
}

/// The number in a name such as "cpu12".
std::optional<int> numbered(const fs::path& path, std::string_view prefix) {
  const std::string name = path.filename().string();
  return name.starts_with(prefix) ? number(std::string_view(name).substr(prefix.size())) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    result.push_back(each->path());
  return result;
}

/// The first CPU of those that share the CPU's cache of the highest level.
std::optional<int> cluster_of(const fs::path& cpu) {
  std::pair<int, std::optional<int>> highest = {0, std::nullopt};
  for (const fs::path& cache : entries(cpu / "cache"))
    if (const auto level = number(line_of(cache / "level")); level && *level > highest.first)
      highest = {*level, first_of(cache / "shared_cpu_list")};
  return highest.second;
}

}  // namespace

Topology::Topology(const fs::path& folder) {
  for (const fs::path& cpu : entries(folder / "cpu")) {
    const auto number = numbered(cpu, "cpu");
    if (!number) continue;
    // Newer kernels call the first "core_cpus_list", and still have the second.
    const auto core = first_of(cpu / "topology" / "thread_siblings_list");
    places_[*number] = {core.value_or(*number), cluster_of(cpu).value_or(0), 0};
  }
  for (const fs::path& node : entries(folder / "node"))
    if (const auto number = numbered(node, "node"))
      for (const auto& [from, to] : ranges(line_of(node / "cpulist")))
        for (auto place = places_.lower_bound(from); place != places_.end() && place->first <= to; ++place)
          place->second.node = *number;
}

const Topology& Topology::of_this_machine() {
  static const Topology topology("/sys/devices/system");
  return topology;
}

std::vector<int> near_first(std::vector<int> cpus, int first, const Topology& topology) {
  const int core = topology.core(first), cluster = topology.cluster(first), node = topology.node(first);
  using Key = std::tuple<bool, int, bool, bool, int, int, bool, int>;
  std::map<int, int> threads = {{core, 1}};  // of a core, so far
  std::map<Key, int> ordered;
  std::sort(cpus.begin(), cpus.end());
  for (const int cpu : cpus) {
    const int its_core = topology.core(cpu), its_cluster = topology.cluster(cpu), its_node = topology.node(cpu);
    const int thread = cpu == first ? 0 : threads[its_core]++;
    ordered[{cpu == first, thread, its_node != node, its_cluster != cluster, its_node, its_cluster, its_core < core,
             cpu}] = cpu;
  }
  std::transform(ordered.begin(), ordered.end(), cpus.begin(), [](const auto& each) { return each.second; });
  return cpus;
}

}  // namespace isomer
