// What lies in a folder.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

namespace isomer {

/// Entries of a folder whose names begin so, the highest name first; none where there is no such folder.
inline std::vector<std::filesystem::path> entries_with_prefix(const std::filesystem::path& folder,
                                                              std::string_view prefix) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace isomer
