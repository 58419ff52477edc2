#include "util/cgroup.h"

#include <fmt/format.h>

#include <fstream>

namespace isomer {
namespace {

/// The path of this process in the unified hierarchy (no controller), or in that of a controller.
std::string path_in_hierarchy(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string wanted = fmt::format(",{},", controller);
    if (controller.empty() ? controllers == wanted : controllers.find(wanted) != std::string::npos)
      return line.substr(second + 1);
  }
  return "/";
}

}  // namespace

std::vector<std::string> cgroup_folders(std::string_view controller) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& root, std::string path) {
    while (true) {
      folders.push_back(root + path);
      if (path.empty() || path == "/") return;
      path.resize(path.rfind('/'));
    }
  };
  add("/sys/fs/cgroup", path_in_hierarchy(""));
  add(fmt::format("/sys/fs/cgroup/{}", controller), path_in_hierarchy(controller));
  return folders;
}

}  // namespace isomer
