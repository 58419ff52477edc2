// Which files a piece of code opens.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace isomer::test {

/// Runs `act` in a child and gives the paths (links resolved) of what it opened, in order; nothing where this system
/// lets nobody trace.
std::optional<std::vector<std::filesystem::path>> files_opened_by(const std::function<void()>& act);

}  // namespace isomer::test
