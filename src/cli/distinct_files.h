// Files that a command is told to read and to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace isomer::cli {

struct NamedFile {
  std::string_view option;  ///< that names it
  std::string path;         ///< empty: none
};

/// An error of kind kUsage where one of those that are written is another of them, or one that is read, whatever links
/// lead to it.
Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

}  // namespace isomer::cli
