// Where the kernel says what the groups of this process may have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isomer {

/// Folders of the process's group and the groups around it, innermost first: of the unified (v2) hierarchy, then of the
/// controller's own (v1).
std::vector<std::string> cgroup_folders(std::string_view controller);

}  // namespace isomer
