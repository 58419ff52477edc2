#include "cli/distinct_files.h"

#include "util/output_file.h"

namespace isomer::cli {

Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  std::vector<NamedFile> others = read;
  for (const NamedFile& file : written) {
    if (file.path.empty()) continue;
    for (const NamedFile& other : others)
      if (!other.path.empty() && is_same_file(file.path, other.path))
        return Error{ErrorKind::kUsage, std::string(file.option),
                     fmt::format("another file than that of {} expected, '{}' found", other.option, file.path)};
    others.push_back(file);
  }
  return {};
}

}  // namespace isomer::cli
