// Files that a command is told to read and to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "util/result.h"

namespace isomer::cli {

struct NamedFile {
  std::string_view option;  ///< that names it
  std::string path;         ///< empty: none
};

/// An error of kind kUsage where one of those that are written is another of them, or one that is read, whatever links
/// lead to it.
Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

/// What --load-inputs reads.
std::vector<NamedFile> files_of_inputs(const InputOptions& inputs);
/// What --rules reads.
std::vector<NamedFile> files_of_rules(const std::vector<std::string>& rules);
/// What --schedule TASK=FILE reads.
std::vector<NamedFile> files_of_schedules(const std::vector<std::string>& schedules);

}  // namespace isomer::cli
